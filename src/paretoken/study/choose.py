"""Choosing: who goes to the finals, and who is recommended. Pure; sees trials and verdicts, never an engine.

Selection and confirmation are apart (decision rule 5): screening's numbers choose the finalist and are then forgotten;
the finals' verdicts alone decide. A tie goes to the simpler side: finalist → hand setting → baseline.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paretoken.core.trial import Trial
from paretoken.core.verdict import Effect
from paretoken.frontier.pareto import MOST_FAILED_SHARE

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


@dataclass(frozen=True, slots=True)
class Entrant:
    """What the finals and the verification say of one candidate. Effects are of the output rate. `worse_than_hand` is
    what of it is worse than the hand setting beyond the interval."""

    label: str
    vs_baseline: Effect | None = None
    vs_hand: Effect | None = None
    behaviour: str = "equivalent"  # the same weights need no comparison
    intact: str = "intact"  # one slot changes nothing
    failed_share: float = 0.0
    worse_than_hand: str | None = None


def recommend(baseline: str, hand: Entrant | None, finalist: Entrant | None) -> Choice:
    """The recommendation of the finals. `hand` None: the hand setting is the baseline.

    The finalist must beat hand setting and baseline beyond the interval in rate, be worse than the hand setting in
    nothing, and keep its behaviour and its service changes' intactness; else the hand setting, if it beats the baseline
    and is intact; else the baseline.
    """
    effects = [entrant.vs_baseline for entrant in (hand, finalist) if entrant is not None]
    judged = [effect for effect in effects if effect is not None]
    hand_unknown = hand is not None and (hand.vs_baseline is None or hand.vs_baseline.verdict == "invalid")
    if (effects and all(effect.verdict == "invalid" for effect in judged)) or hand_unknown:
        return Choice(None, "the finals were not valid; see the doubts")
    why_not = ""
    if finalist is not None:
        blocker = _blocker(finalist, has_hand=hand is not None)
        if blocker is None:
            return Choice(
                finalist.label, f"{finalist.label} beats the hand setting and the baseline beyond the interval"
            )
        why_not = f"{blocker}; "
    if hand is None:
        tried = why_not or "no other candidate kept its answers and completed; "
        return Choice(baseline, f"{tried}the hand setting is the baseline")
    blocker = _blocker(hand, has_hand=False)
    if blocker is None:
        return Choice(hand.label, f"{why_not}the hand setting beats the baseline beyond the interval")
    return Choice(baseline, f"{why_not}{blocker}")


def _blocker(entrant: Entrant, *, has_hand: bool) -> str | None:
    """The first reason not to recommend this candidate, or None."""
    label = entrant.label
    if entrant.failed_share > MOST_FAILED_SHARE:
        return f"{entrant.failed_share:.0%} of the requests to {label} failed"
    if entrant.behaviour not in GATE_PASSES:
        return f"{label} did not pass the behaviour gate ({entrant.behaviour})"
    if entrant.intact != "intact":
        return f"the service settings of {label} are {entrant.intact.replace('_', ' ')}"
    if has_hand and (entrant.vs_hand is None or entrant.vs_hand.verdict != "better"):
        return f"{label} is {entrant.vs_hand.verdict if entrant.vs_hand else 'unknown'} against the hand setting"
    if entrant.vs_baseline is None or entrant.vs_baseline.verdict != "better":
        return f"{label} is {entrant.vs_baseline.verdict if entrant.vs_baseline else 'unknown'} against the baseline"
    if entrant.worse_than_hand is not None:
        return f"{label} is worse than the hand setting in {entrant.worse_than_hand}"
    return None
