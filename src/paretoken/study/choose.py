"""Choosing: who goes to the finals, and who is recommended. Pure; sees trials and verdicts, never an engine.

Selection and confirmation are apart (decision rule 5): screening's numbers choose the finalist and are then forgotten;
the finals' verdicts alone decide. A tie goes to the simpler side: finalist → hand setting → baseline.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paretoken.core.trial import Trial
from paretoken.core.verdict import Effect

DECIDING_METRIC = "output_tok_s"
GATE_PASSES = ("equivalent", "changed_small")


def rate_of(trial: Trial) -> float:
    """The screened output rate; a trial that did not complete has none and ranks last."""
    scalar = trial.metrics.get(DECIDING_METRIC) if trial.complete else None
    value = scalar.get("value") if isinstance(scalar, Mapping) else None
    return float(value) if value is not None else 0.0


def finalists_in_order(trials: Sequence[Trial], excluded: Sequence[str]) -> list[Trial]:
    """Complete screening trials by screened rate, best first, without the labels that are in the finals anyway."""
    able = [
        trial for trial in trials if trial.complete and trial.candidate.label not in excluded and rate_of(trial) > 0
    ]
    return sorted(able, key=rate_of, reverse=True)


@dataclass(frozen=True, slots=True)
class Choice:
    """`label` None: nothing can be recommended. `why` is one sentence."""

    label: str | None
    why: str


def recommend(
    *,
    baseline: str,
    hand: str,
    finalist: str | None,
    finalist_vs_hand: Effect | None,
    finalist_vs_baseline: Effect | None,
    hand_vs_baseline: Effect | None,
    behaviour: str | None,
    intact: str | None,
) -> Choice:
    """The recommendation of the finals.

    The finalist must beat the hand setting beyond the interval *and* keep its behaviour and its service changes'
    intactness; else the hand setting if it beats the baseline; else the baseline.
    """
    effects = [e for e in (finalist_vs_hand, finalist_vs_baseline, hand_vs_baseline) if e is not None]
    hand_unknown = hand_vs_baseline is not None and hand_vs_baseline.verdict == "invalid"
    if not effects or hand_unknown or all(effect.verdict == "invalid" for effect in effects):
        return Choice(None, "the finals were not valid; see the doubts")
    why_not = ""
    if finalist is not None and finalist_vs_hand is not None:
        blocker = _blocker(finalist, finalist_vs_hand, finalist_vs_baseline, behaviour, intact)
        if blocker is None:
            return Choice(finalist, f"{finalist} beats the hand setting and the baseline beyond the interval")
        why_not = f"{blocker}; "
    if hand_vs_baseline is None:
        return Choice(baseline, f"{why_not}the hand setting is the baseline")
    if hand_vs_baseline.verdict == "better":
        return Choice(hand, f"{why_not}the hand setting beats the baseline beyond the interval")
    return Choice(baseline, f"{why_not}the hand setting is {hand_vs_baseline.verdict} against the baseline")


def _blocker(
    finalist: str, vs_hand: Effect, vs_baseline: Effect | None, behaviour: str | None, intact: str | None
) -> str | None:
    """The first reason not to recommend the finalist, or None."""
    if behaviour not in GATE_PASSES:
        return f"{finalist} did not pass the behaviour gate ({behaviour or 'not verified'})"
    if intact not in ("intact", None):
        return f"{finalist}'s service settings were {intact.replace('_', ' ')}"
    if vs_hand.verdict != "better":
        return f"{finalist} is {vs_hand.verdict} against the hand setting"
    if vs_baseline is not None and vs_baseline.verdict != "better":
        return f"{finalist} is {vs_baseline.verdict} against the baseline"
    return None
