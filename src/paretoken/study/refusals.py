"""Models whose answers changed: kept with their evidence, and what they say of models that nobody looked at.

Enters what a look at the behaviour found (decision rule 7); leaves refused trials, the answers that differ, and which
number types are not worth a look, because a refused one with fewer bits lies too far off.
"""

import math
from dataclasses import replace
from typing import Any

from paretoken.core.trial import Trial
from paretoken.models.gguf_types import BY_NAME
from paretoken.search.space import Point
from paretoken.study.plan import ASKED_MODELS
from paretoken.study.space import DEFAULT, WEIGHTS, Space
from paretoken.study.state import State
from paretoken.study.steps import Steps

REFUSALS = ("changed", "fail")
# One bit halves the rounding error and quarters its variance, and with it KLD; of what was measured (docs/LOG.md) the
# slowest fall was three times a bit. Types of as many bits differ by up to three times, so five stay clear of that.
FALL_A_BIT = 3.0
CLEARLY = 5.0  # times the margin: what is expected to lie so far off is not looked at


def refuse(state: State, trial: Trial, behaviour: dict[str, Any]) -> None:
    """The model of this trial is refused, and all its trials with it."""
    label = trial.candidate.label
    state.trials = [kept for kept in state.trials if kept.candidate.label != label]
    reason = f"its behaviour {_refusal(behaviour['verdict'])}: {behaviour.get('reason') or kld_words(behaviour)}"
    state.trials.append(replace(trial, state="refused", reason=reason, behaviour=behaviour))
    level = state.space.tree.model_level(Point.from_json(trial.point)) if trial.point else None
    if level not in state.refused_levels:
        state.refused_levels.append(level)
        state.refused.append(
            {
                "label": label,
                "reason": reason,
                "behaviour": behaviour,
                "differing_answers": [],
                "metrics": trial.metrics or None,
            }
        )


def ask_the_refused(steps: Steps, state: State) -> None:
    """Answers of the fastest refused models, which are missed the most, beside the baseline's."""
    candidates = {trial.candidate.label: trial.candidate for trial in state.trials}
    for item in sorted(state.refused, key=_rate, reverse=True)[:ASKED_MODELS]:
        steps.bench.talk.progress(f"asking {item['label']} and the baseline the same")
        item["differing_answers"] = steps.answers_that_differ(state.space.model, candidates[item["label"]])
    steps.bench.talk.progress("")


def expected_refusal(state: State, point: Point, margin_nat: float) -> str | None:
    """Why this point's number type need not be looked at: the KLD to expect from the refused type with the most bits
    below its own is far beyond the margin. None where it has to be looked at."""
    space, option = state.space, point.get(WEIGHTS, DEFAULT)
    if option == DEFAULT or space.tree.model_level(point) in state.screens:
        return None
    below = [
        (bits_of(str(level[WEIGHTS])), level, found["kld"]["value"])
        for level, found in state.screens.items()
        if found["verdict"] in REFUSALS and _kld(found) is not None and _only_weights(space, level)
    ]
    below = [found for found in below if found[0] <= bits_of(str(option))]
    if not below:
        return None
    bits, level, kld = max(below, key=lambda found: found[0])
    expected = kld / FALL_A_BIT ** (bits_of(str(option)) - bits)
    if expected < CLEARLY * margin_nat:
        return None
    return (
        f"not looked at: {space.model_words(space.tree.completed(level.as_json()))} with {bits:.3g} bits a weight lies "
        f"{kld:.2g} nat off, so about {expected:.2g} nat are expected, margin {margin_nat:g}"
    )


def bits_of(number_type: str) -> float:
    """Bits a weight, the block's scales included."""
    found = BY_NAME[number_type]
    return 8 * found.block_bytes / found.block_items


def kld_words(behaviour: dict[str, Any]) -> str:
    kld, top = _kld(behaviour), (behaviour.get("same_top") or {}).get("value")
    if kld is None or top is None:
        return str(behaviour.get("reason"))
    return f"KLD {kld:.4f} nat, same top token {top:.1%} of {behaviour.get('positions')} positions"


def _only_weights(space: Space, level: Point) -> bool:
    """Whether the weights' number type is all that this model level changes."""
    return level.differs(space.tree.model_level(space.baseline)) == (WEIGHTS,)


def _kld(behaviour: dict[str, Any]) -> float | None:
    found = (behaviour.get("kld") or {}).get("value")
    return None if found is None or not math.isfinite(found) else float(found)


def _rate(item: dict[str, Any]) -> float:
    return float(((item["metrics"] or {}).get("output_tok_s") or {}).get("value") or 0.0)


def _refusal(verdict: str) -> str:
    return {"changed": "changed", "fail": "failed", "inconclusive": "could not be shown to be kept"}[verdict]
