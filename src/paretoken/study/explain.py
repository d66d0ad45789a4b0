"""Why this one: what each technique brings, what binds, how the choice would move. All read off measured runs.

Enters the finals' sides and their further candidates; leaves plain JSON for the document. A technique's part is the
effect of it alone (against the baseline) and of taking it out (the winner without it, against the winner), both over
interleaved blocks (decision rule 5); what was not measured says why.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from paretoken.core.objective import GOALS, Objective
from paretoken.core.verdict import Effect
from paretoken.metrics.slo import slo_words
from paretoken.search.space import Point
from paretoken.study.deciding import choose_by_finals
from paretoken.study.finals import Side, effect_in, effects, first_blocks
from paretoken.study.objectives import PURPOSES, asked_for, objective_of
from paretoken.study.state import State
from paretoken.study.steps import Steps
from paretoken.units import show_percent

# From here on one limit is called what binds.
BINDING_SHARE = 0.6


def contributions(steps: Steps, state: State, label: str | None) -> dict[str, Any] | None:
    """Of the recommended, if it has techniques; None without."""
    space, baseline = state.space, state.sides.get(state.space.label(state.space.baseline))
    winner = state.sides.get(label) if label is not None else None
    if winner is None or baseline is None or winner is baseline:
        return None
    point = state.finalist_point if winner.candidate == state.finalist else space.hand
    assert point is not None
    whole = _effect(steps, baseline, winner)
    rows = [_row(steps, state, point, axis, winner, baseline) for axis in space.switched_on(point)]
    alone = [row["alone"]["ratio"]["value"] for row in rows if row["alone"]]
    known = [float(value) for value in alone if value is not None]
    product = math.prod(known) if rows and len(known) == len(rows) else None
    return {
        "of": label,
        "metric": _metric(steps),
        "rows": rows,
        "whole": None if whole is None else whole.as_json(),
        "product_of_alone": product,
        "overlap": _overlap(whole, product, len(rows)),
    }


def _metric(steps: Steps) -> str:
    return steps.objective.deciding_metric


def _row(steps: Steps, state: State, point: Point, axis: str, winner: Side, baseline: Side) -> dict[str, Any]:
    space = state.space
    ablation = next((found for found in state.ablations if found.axis == axis), None)
    alone = removed = None
    if ablation is not None and ablation.alone is not None:
        alone = _pair(steps, state, baseline, ablation.alone)
    if ablation is not None and ablation.removed is not None:
        removed = _pair(steps, state, winner, ablation.removed)
    missing = None
    if alone is None or removed is None:
        missing = (
            ablation.why_not
            if ablation is not None and ablation.why_not
            else ("not measured: the budget had no room for it; go on with a larger one (--resume --budget)")
        )
    technique = winner.candidate.techniques[space.switched_on(point).index(axis)]
    return {
        "technique": axis,
        "level": technique.level,
        "settings": dict(technique.settings),
        "words": space.words(axis, point[axis]),
        "alone": None if alone is None else alone.as_json(),
        "removed": None if removed is None else removed.as_json(),
        "label_alone": None if ablation is None or ablation.alone is None else space.label(ablation.alone),
        "label_removed": None if ablation is None or ablation.removed is None else space.label(ablation.removed),
        "missing": missing,
    }


def _pair(steps: Steps, state: State, reference: Side, point: Point) -> Effect | None:
    """The effect of a point's side against the reference, over the blocks that both have; None where it has none."""
    label = state.space.label(point)
    other = state.sides.get(label) or state.further.get(label)
    if other is None or other is reference:
        return None
    blocks = min(len(reference.blocks), len(other.blocks))
    return _effect(steps, first_blocks(reference, blocks), first_blocks(other, blocks))


def _effect(steps: Steps, reference: Side, other: Side) -> Effect | None:
    return effect_in(effects(reference, other, steps.objective.effect_margin), _metric(steps))


def _overlap(whole: Effect | None, product: float | None, techniques: int) -> str | None:
    """Whether the techniques bring together what their single effects would multiply to."""
    if techniques < 2 or whole is None or whole.ratio is None or whole.ci95 is None or product is None:
        return None
    low, high = whole.ci95
    said = (
        f"alone they would multiply to {product:.2f}×, together they are {whole.ratio:.2f}× ({low:.2f} to {high:.2f})"
    )
    if low <= product <= high:
        return f"{said}: no overlap can be told from noise"
    if product > high:
        return f"{said}: their effects overlap"
    return f"{said}: together they bring more than each alone"


def binds(limits: Mapping[str, Any] | None, slo_binding: str | None) -> str | None:
    """What keeps the winner from being faster, and how far the limit is."""
    if limits is None or limits.get("of") is None:
        return slo_binding
    prefill, decode, bandwidth = (limits.get(name) for name in ("mfu_prefill", "mfu", "mbu"))
    if decode is None or bandwidth is None:
        return slo_binding
    compute = decode + (prefill or 0.0)
    name, share = max((("arithmetic", compute), ("memory bandwidth", bandwidth)), key=lambda pair: pair[1])
    other_name, other = min((("arithmetic", compute), ("memory bandwidth", bandwidth)), key=lambda pair: pair[1])
    if share <= 0:
        return slo_binding
    nearest = "binds" if share >= BINDING_SHARE else "is the nearest limit"
    sentence = (
        f"{name} {nearest}: {show_percent(share)} of what was measured on this machine is used "
        f"({show_percent(other)} of its {other_name}), so at most {1 / share:.1f}× is left"
    )
    return sentence if slo_binding is None else f"{sentence}; {slo_binding}"


def sensitivity(steps: Steps, state: State, label: str | None) -> list[dict[str, Any]]:
    """Who would have been recommended from the same finals under another objective, and at another price."""
    asked = steps.objective
    found = []
    for goal in GOALS:
        if goal == asked.goal or (goal == "goodput" and not asked.slo):
            continue
        other = replace(asked, goal=goal)
        if other.deciding_metric != asked.deciding_metric:
            found.append(_if(steps, state, f"the goal were {goal}", other))
    for name in PURPOSES:
        if name != asked.name:
            other = _named(asked, name)
            found.append(_if(steps, state, _purpose_words(name, other), other))
    price = "the price of this machine were another"
    why = "on one machine every candidate's cost moves with the price alike; it decides between machines only"
    found.append({"if": price, "label": label, "why": why})
    return found


def _purpose_words(name: str, objective: Objective) -> str:
    return f"it were for {name} ({slo_words(objective.slo) or objective.goal})"


def _named(asked: Objective, name: str) -> Objective:
    given = asked_for(name, None, None)
    return objective_of(given, asked.load, asked.output_tokens, asked.behaviour_margin_nat)


def _if(steps: Steps, state: State, words: str, objective: Objective) -> dict[str, Any]:
    choice = choose_by_finals(steps, state, objective)
    return {"if": words, "label": choice.label, "why": choice.why}
