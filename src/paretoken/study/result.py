"""The document of a study: what `optimize --json` prints, what reports read, what `serve` runs.

Enters the steps' state and the choice; leaves plain JSON. Names, figures and verdicts only: a command line is never
stored, it is rebuilt from validated settings.
"""

from collections.abc import Mapping
from typing import Any

from paretoken.core.candidate import Candidate
from paretoken.core.doubt import Doubt
from paretoken.core.provenance import Provenance
from paretoken.engines.replicas import launch_commands
from paretoken.frontier.knee import knee
from paretoken.frontier.pareto import Coordinate, Point, frontier
from paretoken.metrics.definitions import definitions_json
from paretoken.metrics.reuse import cache_hit_rate, draft_acceptance
from paretoken.metrics.slo import held
from paretoken.models.lineage import lineage_of
from paretoken.study.choose import GATE_PASSES, Choice
from paretoken.study.explain import binds, contributions, sensitivity
from paretoken.study.file import REPORT_FILE
from paretoken.study.finals import Side, doubts_of_side
from paretoken.study.limits import computed_input_tok_s, utilisation
from paretoken.study.state import State
from paretoken.study.steps import Steps
from paretoken.units import MS_PER_S
from paretoken.version import __version__

SCHEMA = 1
COSTS = ("machine_s_per_mtok", "cost_per_mtok")
WAITS = ("ttft_from_due_ms", "tpot_ms")


def document_of(steps: Steps, state: State, choice: Choice, started_at: str) -> dict[str, Any]:
    space = state.space
    baseline, hand = space.candidate(space.baseline), space.candidate(space.hand)
    sides = state.sides
    recommended = sides.get(choice.label) if choice.label is not None else None
    rows, found_knee = _candidates(state)
    limits = _limits(state, recommended or sides.get(baseline.label))
    return {
        "schema": SCHEMA,
        "study": steps.file.id,
        "objective": steps.objective.as_json(),
        "plan": state.plan.as_json(),
        "interrupted": state.interrupted,
        "baseline": _entry(baseline, sides),
        "hand_setting": _entry(hand, sides),
        "trials": [trial.as_json() for trial in state.trials],
        "finals": _finals(steps, state),
        "frontier": [row for row in rows if row["on_frontier"]],
        "candidates": rows,
        "recommended": None if recommended is None else {**_entry(recommended.candidate, sides), "why": choice.why},
        "why": choice.why,
        "verdicts": _verdicts(steps, state, recommended),
        "refused": state.refused,
        "left_out": state.left_out,
        "limits": limits,
        "knee": found_knee,
        "contributions": contributions(steps, state, choice.label),
        "sensitivity": sensitivity(steps, state, choice.label) if sides else [],
        "binds": binds(limits, _slo_binding(steps, recommended)),
        "model_level": _model_level(steps, state),
        "prompt_cache": _reuse(sides.get(baseline.label), recommended),
        "speculation": _speculation(state),
        "wait": {
            name: side.summary["metrics"].get("wait")
            for name, side in (("baseline", sides.get(baseline.label)), ("recommended", recommended))
            if side is not None
        },
        "doubts": [doubt.as_json() for doubt in _doubts(state)],
        "definitions": definitions_json(),
        "provenance": _provenance(steps, state, baseline, started_at).as_json(),
        "report": f"studies/{steps.file.id}/{REPORT_FILE}",
        "serve": f"paretoken serve {steps.file.id}",
        "commands": _commands(steps, recommended),
    }


def _commands(steps: Steps, recommended: Side | None) -> dict[str, Any]:
    """For people: how to serve it, how to check it again, and the same on a llama.cpp of one's own. Nothing of it is
    ever run by us; the model's file goes by its name."""
    found: dict[str, Any] = {
        "serve": f"paretoken serve {steps.file.id}",
        "verify": f"paretoken verify {steps.file.id}",
        "launch": [],
    }
    if recommended is not None:
        candidate = recommended.candidate
        settings = steps.bench.settings(dict(candidate.engine_settings))
        found["launch"] = launch_commands(
            steps.bench.engine, settings, f"{candidate.model.name}.gguf", candidate.replicas
        )
    return found


def _slo_binding(steps: Steps, side: Side | None) -> str | None:
    """The limit of the SLO that the recommended comes nearest to."""
    if side is None or not steps.objective.slo:
        return None
    nearest = max(held(steps.objective.slo, side.summary["metrics"]), key=lambda found: found.overrun)
    return f"of the SLO {nearest.words()} is nearest ({nearest.overrun:.0%} of it)"


def _model_level(steps: Steps, state: State) -> list[dict[str, Any]]:
    """Every model-level variant that was looked at, by the most positions that it was."""
    margin = steps.objective.behaviour_margin_nat
    rows = []
    for level, behaviour in {**state.screens, **state.verified}.items():
        point = state.space.tree.completed(level.as_json())
        rows.append(
            {
                "label": state.space.model_words(point),
                "bytes": state.space.candidate(point).model.bytes,
                "kld": behaviour.get("kld"),
                "same_top": behaviour.get("same_top"),
                "positions": behaviour.get("positions"),
                "verdict": behaviour["verdict"],
                "margin_nat": margin,
            }
        )
    return rows


def _reuse(baseline: Side | None, recommended: Side | None) -> dict[str, Any] | None:
    if baseline is None:
        return None
    sides = {"baseline": baseline, **({} if recommended is None else {"recommended": recommended})}
    return {name: {"hit_rate": cache_hit_rate(side.records)} for name, side in sides.items()}


def _speculation(state: State) -> dict[str, Any] | None:
    """Of the finals' candidates that draft; acceptance beside speed, since it must pay for itself."""
    for side in (*state.sides.values(), *state.further.values()):
        if side.candidate.engine_settings.get("speculation", "none") != "none":
            share = draft_acceptance(side.records)
            kept = "nothing was drafted" if share is None else f"{share:.0%} of the drafted tokens were kept"
            return {"of": side.candidate.label, "acceptance": share, "words": kept}
    return None


def _entry(candidate: Candidate, sides: Mapping[str, Side]) -> dict[str, Any]:
    side = sides.get(candidate.label)
    lineage = lineage_of(candidate.model)
    return {
        "label": candidate.label,
        "candidate": candidate.as_json(),
        "lineage": lineage,
        "metrics": None if side is None else side.summary["metrics"],
        "requests": None if side is None else side.summary["requests"],
    }


def _finals(steps: Steps, state: State) -> dict[str, Any]:
    """Every side with its own evidence, so that whoever was not recommended is not lost."""
    blocks = max((len(side.blocks) for side in state.sides.values()), default=0)
    by_label = {
        label: {
            **side.as_json(),
            **_against(steps, state, side),
            **_kept(state, side),
            "slo": [found.as_json() for found in held(steps.objective.slo, side.summary["metrics"])],
        }
        for label, side in state.sides.items()
    }
    return {"blocks": blocks, "by_label": by_label}


def _against(steps: Steps, state: State, side: Side) -> dict[str, Any]:
    """The effects of a side against the baseline and against the hand setting; none against itself."""
    found: dict[str, Any] = {}
    for name, point in (("vs_baseline", state.space.baseline), ("vs_hand_setting", state.space.hand)):
        against = state.against(point, steps.objective.effect_margin).get(side.candidate.label, [])
        found[name] = [effect.as_json() for effect in against]
    return found


def _kept(state: State, side: Side) -> dict[str, Any]:
    """What verification says of a side: None where nothing had to be looked at."""
    return {
        "behaviour": state.behaviour if side.candidate == state.finalist else None,
        "intact": state.intact.get(side.candidate.label),
    }


def _verdicts(steps: Steps, state: State, recommended: Side | None) -> dict[str, Any]:
    """Of what is recommended, else of the finalist: why it is not is the same evidence."""
    subject = recommended
    if subject is None and state.finalist is not None:
        subject = state.sides.get(state.finalist.label)
    if subject is None:
        return {"vs_baseline": [], "vs_hand_setting": [], "behaviour": None, "intact": None}
    return {**_against(steps, state, subject), **_kept(state, subject)}


def _candidates(state: State) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """One row a candidate: by the finals where it was in them, else by its screening run (`phase` says which). Only the
    finals are reported (decision rule 5), so only they have a frontier; and who changed the answers is not on it."""
    rows: dict[str, dict[str, Any]] = {}
    for trial in state.trials:
        row = _row(trial.candidate, "screening", trial.state, trial.metrics)
        rows[trial.candidate.label] = {**row, "memory_bytes": trial.memory_bytes}
    for side in state.sides.values():
        row = _row(side.candidate, "finals", "complete", side.summary["metrics"])
        sizes = [block.memory_bytes for block in side.blocks if block.memory_bytes is not None]
        memory = max(sizes, default=None)
        rows[side.candidate.label] = {**row, "failed_share": side.failed_share, "memory_bytes": memory}
    why_not = {label: _not_kept(state, side) for label, side in state.sides.items()}
    points = [_point(row, why_not[row["label"]]) for row in rows.values() if row["phase"] == "finals"]
    on = frontier(points).on if points else ()
    bend, why = knee(on)
    labels = {point.label for point in on}
    found = [{**row, "on_frontier": row["label"] in labels} for row in rows.values()]
    return found, {"label": None if bend is None else bend.label, "why": why}


def _row(candidate: Candidate, phase: str, state: str, metrics: Mapping[str, Any]) -> dict[str, Any]:
    # In money where a price is known, else in seconds of this machine: one of the two names is in every summary.
    priced = next((name for name in COSTS if name in metrics), COSTS[0])
    return {
        "label": candidate.label,
        "phase": phase,
        "state": state,
        "bytes": candidate.model.bytes,
        "output_tok_s": metrics.get("output_tok_s"),
        priced: (metrics.get(priced) or {}).get("output"),
        **{name: _p95(metrics.get(name)) for name in WAITS},
    }


def _p95(distribution: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if not distribution:
        return None
    return {"stat": "p95", "value": distribution.get("p95"), "ci95": (distribution.get("ci95") or {}).get("p95")}


def _not_kept(state: State, side: Side) -> str | None:
    """Why the answers of a side are not known to be kept, or None."""
    kept = _kept(state, side)
    if kept["behaviour"] is not None and kept["behaviour"]["verdict"] not in GATE_PASSES:
        return f"behaviour {kept['behaviour']['verdict']}"
    if kept["intact"] is not None and kept["intact"]["verdict"] != "intact":
        return f"service settings {kept['intact']['verdict']}"
    return None


def _point(row: Mapping[str, Any], why_not: str | None) -> Point:
    cost = next((row[name] for name in COSTS if name in row), None)
    axes = {"cost": _coordinate(cost), **{name: _coordinate(row[name]) for name in WAITS}}
    return Point(
        row["label"],
        axes,
        row.get("failed_share", 0.0),
        why_not=why_not,
    )


def _coordinate(figure: Mapping[str, Any] | None) -> Coordinate | None:
    if not figure or figure["value"] is None:
        return None
    low, high = figure.get("ci95") or (None, None)
    return Coordinate(float(figure["value"]), low, high)


def _limits(state: State, side: Side | None) -> dict[str, Any] | None:
    if state.limits is None:
        return None
    found: dict[str, Any] = {**state.limits.as_json(), "mbu": None, "mfu": None, "of": None}
    if side is None:
        return found
    metrics = side.summary["metrics"]
    step_ms, rate = metrics["tpot_ms"]["p50"], metrics["output_tok_s"]["value"]
    if not step_ms or not rate:
        return found
    slots = int(side.candidate.engine_settings.get("slots", 1))
    prompt, answer = metrics["input_tokens"]["value"] or 0.0, metrics["output_tokens"]["value"] or 0.0
    shares = utilisation(
        side.candidate,
        found=state.limits,
        streams=slots,
        context_tokens=prompt + answer / 2,
        step_s=step_ms / MS_PER_S,
        tok_s=rate,
        input_tok_s=computed_input_tok_s(
            side.records,
            output_tok_s=rate,
            total_tok_s=metrics["total_tok_s"]["value"],
            prompt_cache=side.candidate.engine_settings.get("prompt_cache") is not False,
        ),
        prompt_tokens=prompt,
    )
    return {**found, **shares, "of": side.candidate.label}


def _doubts(state: State) -> list[Doubt]:
    """Of the finals' sides, and of the behaviour's baseline; one a kind and side."""
    found = [doubt for side in state.sides.values() for doubt in doubts_of_side(side)]
    for stored in (state.behaviour or {}).get("doubts", []):
        found.append(Doubt(stored["name"], stored["seen"]))
    return list(dict.fromkeys(found))


def _provenance(steps: Steps, state: State, baseline: Candidate, started_at: str) -> Provenance:
    clocks = {block.clock for side in state.sides.values() for block in side.blocks}
    version = steps.bench.engine.version()
    return Provenance(
        tool_version=__version__,
        started_at=started_at,
        seed=steps.seed,
        hardware=steps.bench.machine,
        engine=steps.bench.engine.name,
        engine_version=version.get("wheel"),
        engine_args=dict(baseline.engine_settings),
        model=state.space.model.name,
        load_mode=steps.objective.load.as_json()["mode"],
        warmup=steps.streams,
        prompt_cache_policy="the candidate's own; the workload declares its shared system prompt",
        clock=clocks.pop() if len(clocks) == 1 else "mixed" if clocks else "user",
        extra={
            "engine_library_sha256": version.get("library_sha256"),
            "workload": steps.asks,
            "strategy": steps.strategy,
        },
    )
