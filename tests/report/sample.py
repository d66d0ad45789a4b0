"""A study's result document with plausible figures, and its variants: one for each way a search can end.

Synthetic: the shape is the contract of studies/ID/result.json, the numbers resemble an 8-stream study of a 135 M model
on two cores. Nothing here is a measurement.
"""

import copy
import random
from collections.abc import Sequence
from functools import cache
from typing import Any

from paretoken.core.candidate import Applied, Candidate, Model
from paretoken.core.doubt import Doubt
from paretoken.core.objective import Load, Objective
from paretoken.core.trial import Trial
from paretoken.core.verdict import Effect
from tests.report.sample_choice import choice, model_level

STUDY = "01KBAB5V7Q3ZJ8M2N4R6T9WXYZ"
BLOCKS, PER_BLOCK, TOKENS = 6, 16, 32
PUBLISHED = Model("smollm2-135m", "smollm2-135m.gguf", "b179c952", 98_362_432)
Q8_0 = Model("smollm2-135m.Q8_0", "q8.gguf", "8a8a8a8a", 144_811_072)
F16 = Model("smollm2-135m.F16", "f16.gguf", "16161616", 270_884_864)
Q4_0 = Model("smollm2-135m.Q4_0", "q4.gguf", "40404040", 91_726_720)


def candidate(label: str, model: Model, slots: int) -> Candidate:
    techniques = [Applied("batching", "service", {"slots": slots})] if slots > 1 else []
    if model is not PUBLISHED:
        techniques.insert(0, Applied("quantize", "model", {"to": label.split(" ")[0]}))
    context = 8192 if slots == 1 else 512
    settings = {"threads": 2, "slots": slots, "context_per_slot": context, "batch": 2048, "ubatch": 512}
    return Candidate(label, "llamacpp", model, settings, tuple(techniques))


BASELINE = candidate("Q4_1 as given · 1 slot", PUBLISHED, 1)
HAND = candidate("Q4_1 as given · 8 slots", PUBLISHED, 8)
WINNER = candidate("Q8_0 · 8 slots", Q8_0, 8)
HALF = candidate("Q8_0 · 4 slots", Q8_0, 4)
WIDE = candidate("F16 · 8 slots", F16, 8)
WRONG = candidate("Q4_0 · 8 slots", Q4_0, 8)

#            rate, ttft p50 ms, tpot p50 ms
PACE = {
    BASELINE.label: (44.1, 5210.0, 22.6),
    HAND.label: (53.2, 1460.0, 128.0),
    WINNER.label: (71.3, 1190.0, 96.5),
    HALF.label: (60.8, 2480.0, 58.0),
    WIDE.label: (68.9, 1330.0, 98.2),
    WRONG.label: (93.4, 980.0, 74.0),
}


def spread(middle: float, share: float, count: int, seed: int) -> list[float]:
    """`count` positive values around a median, a little skewed to the right as waits are."""
    draw = random.Random(seed)
    return [round(middle * (1 + share * (draw.betavariate(2.2, 3.4) - 0.39) * 3), 3) for _ in range(count)]


def distribution(values: Sequence[float]) -> dict[str, Any]:
    ordered, n = sorted(values), len(values)

    def at(share: float) -> float:
        return round(ordered[min(n - 1, int(share * n))], 3)

    enough = n >= 72
    return {
        "n": n,
        "mean": round(sum(ordered) / n, 3),
        "p50": at(0.5),
        "p90": at(0.9),
        "p95": at(0.95),
        "p99": None,
        "max": ordered[-1],
        "ci95": {"p50": [at(0.4), at(0.6)], "p95": [at(0.9), ordered[-1] if enough else None]},
        "reasons": {"p99": f"p99 needs 100 requests, there were {n}"},
        "error_bound_ms": 0.05,
    }


def scalar(value: float | None, share: float = 0.03, reasons: dict[str, str] | None = None) -> dict[str, Any]:
    ci95 = None if value is None else [round(value * (1 - share), 4), round(value * (1 + share), 4)]
    return {"value": value, "ci95": ci95, "reasons": dict(reasons or {})}


def samples(label: str, count: int) -> dict[str, list[float]]:
    _, ttft, tpot = PACE[label]
    seed = sum(map(ord, label))
    return {
        "ttft_from_due_ms": spread(ttft, 0.45, count, seed),
        "tpot_ms": spread(tpot, 0.12, count, seed + 1),
    }


def metrics(label: str, count: int = BLOCKS * PER_BLOCK) -> dict[str, Any]:
    rate, _, tpot = PACE[label]
    taken = samples(label, count)
    whole = [a + b * (TOKENS - 1) for a, b in zip(taken["ttft_from_due_ms"], taken["tpot_ms"], strict=True)]
    return {
        "ttft_ms": distribution([value * 0.98 for value in taken["ttft_from_due_ms"]]),
        "ttft_from_due_ms": distribution(taken["ttft_from_due_ms"]),
        "itl_ms": distribution(spread(tpot, 0.3, count * (TOKENS - 1), 5)),
        "tpot_ms": distribution(taken["tpot_ms"]),
        "e2e_ms": distribution(whole),
        "lateness_ms": distribution(spread(0.3, 0.3, count, 6)),
        "output_tok_s": scalar(rate),
        "total_tok_s": scalar(rate * 5.4),
        "req_s": scalar(round(rate / TOKENS, 3)),
        "full_window_req_s": scalar(round(rate / TOKENS * 0.97, 3)),
        "tok_s_per_user": scalar(round(1000 / tpot, 2)),
        "goodput_share": scalar(None, reasons={"value": "no SLO was stated"}),
        "machine_s_per_mtok": {"output": scalar(round(1e6 / rate, 1)), "input": scalar(None), "total": scalar(None)},
        "mbu": scalar(0.41),
        "mfu": scalar(None, reasons={"value": "the machine's FLOP/s were not measured"}),
    }


def requests(count: int = BLOCKS * PER_BLOCK) -> dict[str, int]:
    return {"scheduled": count, "ok": count, "failed": 0, "cancelled": 0, "lost": 0}


def behaviour(verdict: str, kld: float, ci95: tuple[float, float], same_top: float, positions: int) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "evidence": "logits",
        "reason": f"the mean KLD is {kld} nat at {positions} positions",
        "kld": {"value": kld, "se": kld / 12, "ci95": list(ci95), "median": kld / 3, "p99": kld * 9, "max": kld * 40},
        "same_top": {"value": same_top, "se": 0.006, "ci95": [same_top - 0.012, same_top + 0.012]},
        "ppl_ratio": {"value": 1.004, "se": 0.003, "ci95": [0.998, 1.011]},
        "delta_p_rms": 0.021,
        "margin_nat": 0.01,
        "floor_nat": 0.0038,
        "positions": positions,
        "documents": 8,
        "positions_to_settle": None,
        "floors": {
            "repeat_nat": 0.0,
            "numerics_nat": 0.0038,
            "changes": [{"name": "threads", "kld": {"value": 0.0031}, "near_tie_flips": 9, "hard_flips": 2}],
        },
        "doubts": [],
    }


ACCEPTED = behaviour("changed_small", 0.0041, (0.0036, 0.0047), 0.966, 2048)
REFUSED = behaviour("changed", 0.328, (0.291, 0.367), 0.695, 256)
REASON = "KLD 0.328 nat (0.291 to 0.367) is above the margin 0.01: 30 % of the first choices differ"


def trial(judged: Candidate, number: int, phase: str, state: str = "complete", **more: Any) -> dict[str, Any]:
    return Trial(f"t{number}", phase, judged, state, key=f"k{number}", **more).as_json()


def trials() -> list[dict[str, Any]]:
    close = behaviour("inconclusive", 0.0039, (0.0025, 0.0058), 0.966, 256)
    alike = behaviour("inconclusive", 0.0031, (0.0020, 0.0047), 0.973, 256)
    screened = [(BASELINE, None), (HAND, None), (WINNER, close), (HALF, close), (WIDE, alike)]
    found = [
        trial(judged, n, "screening", metrics=metrics(judged.label, 16), behaviour=seen)
        for n, (judged, seen) in enumerate(screened)
    ]
    found.append(
        trial(WRONG, 5, "screening", "refused", reason=REASON, metrics=metrics(WRONG.label, 16), behaviour=REFUSED)
    )
    crashed = candidate("F16 · 4 slots", F16, 4)
    found.append(trial(crashed, 6, "screening", "crashed", reason="the engine ended with signal 9 during the run"))
    return found + [trial(j, 7 + n, "finals", metrics=metrics(j.label)) for n, j in enumerate((BASELINE, HAND, WINNER))]


def effect(metric: str, verdict: str, ratio: float | None, low: float, high: float, **more: Any) -> dict[str, Any]:
    return Effect(metric, verdict, ratio, None if ratio is None else (low, high), BLOCKS, 0.03, **more).as_json()


def of_label(judged: Candidate) -> dict[str, Any]:
    rate, ttft, tpot = PACE[judged.label]
    draw = random.Random(int(rate * 10))
    moments = [ttft * 1.02]
    for _ in range(TOKENS - 1):
        moments.append(moments[-1] + tpot * draw.uniform(0.85, 1.15))
    return {
        "metrics": metrics(judged.label),
        "requests": requests(),
        "samples": samples(judged.label, BLOCKS * PER_BLOCK),
        "block_values": {
            "output_tok_s": spread(rate, 0.05, BLOCKS, 1),
            "ttft_from_due_p50_ms": spread(ttft, 0.05, BLOCKS, 2),
            "tpot_p50_ms": spread(tpot, 0.05, BLOCKS, 3),
        },
        "timeline_ms": [round(moment, 3) for moment in moments],
    }


def point(judged: Candidate, phase: str, on_frontier: bool, state: str = "complete") -> dict[str, Any]:
    count = BLOCKS * PER_BLOCK if phase == "finals" else 16
    found, stat = metrics(judged.label, count), "p95"

    def latency(name: str) -> dict[str, Any]:
        return {"stat": stat, "value": found[name][stat], "ci95": found[name]["ci95"][stat]}

    return {
        "label": judged.label,
        "phase": phase,
        "state": state,
        "machine_s_per_mtok": found["machine_s_per_mtok"]["output"],
        "output_tok_s": found["output_tok_s"],
        "ttft_from_due_ms": latency("ttft_from_due_ms"),
        "tpot_ms": latency("tpot_ms"),
        "bytes": judged.model.bytes,
        "on_frontier": on_frontier,
    }


def side(judged: Candidate) -> dict[str, Any]:
    return {
        "label": judged.label,
        "candidate": judged.as_json(),
        "metrics": metrics(judged.label),
        "requests": requests(),
    }


def wait(label: str) -> dict[str, Any]:
    _, ttft, tpot = PACE[label]
    model = ttft + tpot * (TOKENS - 1)
    return {
        "n": BLOCKS * PER_BLOCK,
        "e2e_ms": round(model * 1.01, 1),
        "textbook_ms": round(tpot * TOKENS, 1),
        "textbook_residual_ms": round(model * 1.01 - tpot * TOKENS, 1),
        "two_part_ms": round(model, 1),
        "two_part_residual_ms": round(model * 0.01, 1),
        "budget": f"for 100 ms whole, n ≤ {int(100 / tpot)} at {tpot:.3g} ms a token",
        "tokens_within_100_ms": int(100 / tpot),
    }


def differing_answers() -> list[dict[str, Any]]:
    return [
        {
            "prompt": "Explain in two sentences why the sky is blue.",
            "baseline": "The sky is blue because air scatters short wavelengths more than long ones. "
            "Blue light therefore reaches us from every direction.",
            "candidate": "The sky is blue because of the way that the oceans reflect. The light is blue, the light "
            "is blue, and the light is blue.",
            "first_divergence": 6,
        },
        {
            "prompt": "Name three uses of a paper clip.",
            "baseline": "1. Holding papers together.\n2. Pressing a reset button.\n3. Marking a page.",
            "candidate": "1. Holding papers together.\n2. Holding papers together.\n3. Paper.",
            "first_divergence": 11,
        },
    ]


def sample() -> dict[str, Any]:
    """The full document of a search that found something: Q8_0 with 8 slots beats both, Q4_0 is refused. A copy that a
    test may change."""
    return copy.deepcopy(_sample())


@cache
def _sample() -> dict[str, Any]:
    candidates = [
        point(BASELINE, "finals", True),
        point(HAND, "finals", False),
        point(WINNER, "finals", True),
        point(HALF, "screening", True),
        point(WIDE, "screening", False),
        point(WRONG, "screening", False, "refused"),
    ]
    return {
        "schema": 1,
        "study": STUDY,
        "interrupted": False,
        "why": f"{WINNER.label} beats the hand setting and the baseline beyond the interval",
        "objective": Objective(Load(concurrency=8), TOKENS).as_json(),
        "plan": {
            "budget_s": 360,
            "blocks": BLOCKS,
            "requests_per_block": PER_BLOCK,
            "steps": [
                {"name": "make 3 models of other number types", "minutes": 0.3},
                {"name": "screen the behaviour of 3 models on 256 positions", "minutes": 0.6},
                {"name": "screen the speed of 7 candidates, 16 requests each", "minutes": 1.4},
                {"name": "verify the finalist's behaviour on 2048 positions", "minutes": 1.1},
                {"name": "finals: 3 candidates, 6 interleaved blocks of 16 requests", "minutes": 2.9},
            ],
        },
        "baseline": side(BASELINE),
        "hand_setting": side(HAND),
        "trials": trials(),
        "finals": {
            "blocks": BLOCKS,
            "order": [BASELINE.label, HAND.label, WINNER.label, WINNER.label, HAND.label, BASELINE.label],
            "by_label": {judged.label: of_label(judged) for judged in (BASELINE, HAND, WINNER)},
        },
        "candidates": candidates,
        "frontier": [row for row in candidates if row["on_frontier"]],
        "recommended": {
            **side(WINNER),
            "why": f"{WINNER.label} beats the hand setting and the baseline beyond the interval",
        },
        "verdicts": {
            "vs_baseline": [
                effect("output_tok_s", "better", 1.617, 1.552, 1.684),
                effect("ttft_from_due_p50_ms", "better", 0.229, 0.214, 0.245),
                effect("tpot_p50_ms", "worse", 4.27, 4.13, 4.41),
            ],
            "vs_hand_setting": [
                effect("output_tok_s", "better", 1.340, 1.291, 1.391),
                effect("ttft_from_due_p50_ms", "better", 0.815, 0.772, 0.861),
                effect("tpot_p50_ms", "better", 0.754, 0.731, 0.778),
            ],
            "behaviour": ACCEPTED,
            "intact": {"verdict": "intact", "positions": 512, "near_tie_flips": 4, "hard_flips": 1},
        },
        "refused": [
            {
                "label": WRONG.label,
                "reason": REASON,
                "behaviour": REFUSED,
                "differing_answers": differing_answers(),
                "metrics": metrics(WRONG.label, 16),
            }
        ],
        "limits": {
            "read_gb_s": 15.8,
            "flop_s": 1.1e11,
            "threads": 2,
            "read_gb_s_one_thread": 8.9,
            "of": WINNER.label,
            "reasons": {},
            "mbu": 0.41,
            "mfu": None,
            "step_bound_ms": 9.2,
            "how": "the weights are read once a step; a read loop over 1 GiB gave the bandwidth",
        },
        "wait": {"baseline": wait(BASELINE.label), "recommended": wait(WINNER.label)},
        "doubts": [
            Doubt("baseline_already_quantised", "the file as given is Q4_1").as_json(),
            Doubt("host_contended", "load average 1.3 before 2 of 18 blocks").as_json(),
        ],
        "definitions": {
            "ttft_from_due_ms": "first content chunk − due",
            "tpot_ms": "(t_last − t_first)/(N − n₁)",
            "output_tok_s": "tokens arrived inside the steady window / its length",
        },
        "provenance": {
            "tool_version": "0.1.0",
            "started_at": "2026-11-30T22:41:30Z",
            "seed": 0,
            "hardware": {"cpu": "a CPU with 2 cores", "cores": 2, "memory_bytes": 24_696_061_952},
            "engine": "llamacpp",
            "engine_version": "2026.10.11549",
            "model": "smollm2-135m",
            "load_mode": "closed, 8 streams",
            "percentile_method": "linear (type 7)",
            "clock": "kernel",
        },
        "report": f"studies/{STUDY}/report.html",
        "serve": f"paretoken serve {STUDY}",
        **choice(WINNER.label, HALF.label, STUDY),
        "model_level": model_level(PUBLISHED.bytes, Q8_0.bytes, F16.bytes, Q4_0.bytes),
    }


def hand_setting_wins() -> dict[str, Any]:
    """The finalist did not beat the expert's setting: the expert's setting is recommended."""
    result = sample()
    result["recommended"] = {
        **side(HAND),
        "why": f"{WINNER.label} is same against the hand setting; the hand setting beats the baseline",
    }
    result["verdicts"] = {
        "vs_baseline": [
            effect("output_tok_s", "better", 1.206, 1.171, 1.243),
            effect("ttft_from_due_p50_ms", "better", 0.28, 0.26, 0.30),
            effect("tpot_p50_ms", "worse", 5.66, 5.5, 5.83),
        ],
        "vs_hand_setting": [effect("output_tok_s", "same", 1.004, 0.988, 1.021)],
        "behaviour": None,
        "intact": {"verdict": "intact"},
    }
    result["wait"]["recommended"] = wait(HAND.label)
    result["contributions"] = None
    return result


def baseline_wins() -> dict[str, Any]:
    result = sample()
    result["recommended"] = {**side(BASELINE), "why": "the hand setting is same against the baseline"}
    result["verdicts"] = {
        "vs_baseline": [effect("output_tok_s", "same", 0.998, 0.98, 1.016)],
        "vs_hand_setting": [],
        "behaviour": None,
        "intact": None,
    }
    result["wait"]["recommended"] = wait(BASELINE.label)
    result.update(contributions=None, knee=None, sensitivity=[], binds=None)
    return result


def nothing_recommended() -> dict[str, Any]:
    result = sample()
    result["recommended"] = None
    result["why"] = "Q8_0 · 8 slots did not pass the behaviour gate (inconclusive)"
    result["verdicts"]["behaviour"] = behaviour("inconclusive", 0.0088, (0.0061, 0.0124), 0.95, 512)
    result["wait"]["recommended"] = None
    result.update(contributions=None, commands=None)
    return result


def not_settled() -> dict[str, Any]:
    """Recommended by somebody although the verdict against the baseline is unknown: shown as not settled."""
    result = sample()
    result["verdicts"]["vs_baseline"] = [
        effect("output_tok_s", "unknown", 1.04, 0.95, 1.14, blocks_to_settle=12, reason="the interval contains 1"),
        effect("ttft_from_due_p50_ms", "unknown", None, 0, 0, reason="too few requests"),
    ]
    return result


def invalid() -> dict[str, Any]:
    result = sample()
    result["recommended"] = None
    result["verdicts"]["vs_baseline"] = [
        effect("output_tok_s", "invalid", 1.6, 1.5, 1.7, reason="a doubt forbids a verdict")
    ]
    result["doubts"].append(Doubt("client_saturated", "the client used 99 % of its core").as_json())
    return result


def interrupted() -> dict[str, Any]:
    """Ctrl-C during screening: no finals, no verdicts."""
    result = sample()
    result.update(recommended=None, finals=None, why="the search was interrupted before the finals")
    result["verdicts"] = {"vs_baseline": [], "vs_hand_setting": [], "behaviour": None, "intact": None}
    result["candidates"] = [point(BASELINE, "screening", True), point(HAND, "screening", True)]
    result["frontier"] = list(result["candidates"])
    result["hand_setting"]["metrics"] = result["baseline"]["metrics"] = None
    result["wait"] = {}
    result["interrupted"] = True
    result["trials"] = result["trials"][:2]
    result["refused"] = []
    result.update(contributions=None, knee=None, sensitivity=[], binds=None, commands=None, model_level=[])
    return result


ENDINGS = {
    "better": sample,
    "hand_is_best": hand_setting_wins,
    "baseline_is_best": baseline_wins,
    "unsettled": not_settled,
    "nothing": nothing_recommended,
    "invalid": invalid,
}
