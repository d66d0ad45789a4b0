"""More documents than sample.py's endings: one of before, one of many trials, one whose texts are an attack."""

from typing import Any

from paretoken.core.candidate import Applied, Candidate
from tests.report.sample import BASELINE, PUBLISHED, Q8_0, behaviour, metrics, sample, trial
from tests.report.sample_choice import NEW_PARTS

HOSTILE = "</script><script>window.x=1</script><img src=q onerror=alert(1)>"


def of_before() -> dict[str, Any]:
    """A document as it was before it told of the choice."""
    return {name: part for name, part in sample().items() if name not in NEW_PARTS}


def many_trials() -> dict[str, Any]:
    """Twenty trials with points and efforts, in every state."""
    result = sample()
    base_point = {"weights": "as given", "slots": 1, "kv_type": "f16", "speculation": "none"}
    for done in result["trials"]:
        given = done["candidate"]["label"].startswith("Q4_1")
        slots = done["candidate"]["engine_settings"]["slots"]
        done.update(point={**base_point, "weights": "as given" if given else "Q8_0", "slots": slots}, effort=16)
    states = ["complete", "infeasible", "timeout", "refused", "complete", "crashed"] * 2
    reasons = {
        "infeasible": "its key-value cache of 8 slots needs 26 GB, this machine has 25",
        "timeout": "the run took longer than 120 s",
        "refused": "its behaviour changed: mean KLD 0.09 nat lies beyond the margin of 0.01",
        "crashed": "the engine ended with signal 9 during the run",
    }
    for index, state in enumerate(states[:10]):
        slots, kv_type = 2 + index, ("f16", "q8_0", "q4_0")[index % 3]
        weights = Q8_0 if index % 2 else PUBLISHED
        label = f"{'Q8_0' if index % 2 else 'Q4_1 as given'} · {slots} slots · {kv_type} cache"
        settings = {**BASELINE.engine_settings, "slots": slots, "kv_type": kv_type}
        judged = Candidate(label, "llamacpp", weights, settings, (Applied("batching", "service", {"slots": slots}),))
        measured = metrics(BASELINE.label, 16) if state in ("complete", "refused") else {}
        if measured:
            measured["output_tok_s"] = {"value": 46.0 + 2.4 * index, "ci95": [44.0 + 2.4 * index, 48.0 + 2.4 * index]}
            measured["tpot_ms"].update(p50=30.0 + 8 * index, p95=33.0 + 8 * index)
        seen = behaviour("changed", 0.09, (0.08, 0.10), 0.88, 256) if state == "refused" else None
        made = trial(
            judged, 20 + index, "screening", state, metrics=measured, reason=reasons.get(state), behaviour=seen
        )
        made.update(point={**base_point, "slots": slots, "kv_type": kv_type}, effort={"requests": 16, "blocks": 1})
        result["trials"].append(made)
        if measured:
            result["candidates"].append(_candidate_row(label, state, measured, weights.bytes))
    return result


def _candidate_row(label: str, state: str, measured: dict[str, Any], size: int) -> dict[str, Any]:
    waits = {
        name: {"stat": "p95", "value": measured[name]["p95"], "ci95": None} for name in ("ttft_from_due_ms", "tpot_ms")
    }
    rate = {"output_tok_s": measured["output_tok_s"], "machine_s_per_mtok": None}
    return {"label": label, "phase": "screening", "state": state, "bytes": size, "on_frontier": False, **rate, **waits}


def hostile() -> dict[str, Any]:
    """Every text that a model, a server or a file may have said tries to become markup, a script or a load."""
    result = sample()
    for pair in result["refused"][0]["differing_answers"]:
        pair.update(prompt=HOSTILE, baseline=f"same {HOSTILE}", candidate=f"same other {HOSTILE}")
    result["refused"][0].update(reason=HOSTILE)
    for name in ("engine", "model", "clock"):
        result["provenance"][name] = HOSTILE
    result["contributions"].update(overlap=HOSTILE)
    result["contributions"]["rows"][0].update(words=HOSTILE, missing=HOSTILE)
    result["knee"].update(why=HOSTILE)
    result["sensitivity"][0].update({"if": HOSTILE, "label": HOSTILE, "why": HOSTILE})
    result.update(binds=HOSTILE, speculation={"acceptance": None, "words": HOSTILE})
    result["commands"].update(serve=HOSTILE, launch=["llama-server", HOSTILE, "a'b"])
    result["model_level"][1].update(label=HOSTILE)
    result["trials"][0].update(reason=HOSTILE, point={HOSTILE: HOSTILE}, effort=HOSTILE)
    result["candidates"][3]["label"] = HOSTILE
    result["doubts"][0].update(seen=HOSTILE)
    return result
