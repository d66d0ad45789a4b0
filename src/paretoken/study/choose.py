"""Choosing who is recommended. Pure; sees verdicts, never an engine.

Selection and confirmation are apart (decision rule 5): the search's numbers choose the finalist and are then forgotten;
the finals' verdicts alone decide. The SLO stands before the goal: who is not shown to meet it is not recommended, and
beats nobody. A tie goes to the simpler side: finalist → hand setting → baseline.
"""

from dataclasses import dataclass

from paretoken.core.verdict import Effect
from paretoken.frontier.pareto import MOST_FAILED_SHARE
from paretoken.metrics.slo import Held

GATE_PASSES = ("equivalent", "changed_small")


@dataclass(frozen=True, slots=True)
class Choice:
    """`label` None: nothing can be recommended. `why` is one sentence."""

    label: str | None
    why: str


@dataclass(frozen=True, slots=True)
class Entrant:
    """What the finals and the verification say of one candidate. Effects are of the metric that the objective
    improves; the hand setting has no `vs_hand`. `worse_than_hand` is what of it is worse than the hand setting (the
    baseline where that is the hand setting) beyond the interval; `slo` what became of each limit."""

    label: str
    vs_baseline: Effect | None = None
    vs_hand: Effect | None = None
    behaviour: str = "equivalent"  # the same weights need no comparison
    intact: str = "intact"  # one slot changes nothing
    failed_share: float = 0.0
    worse_than_hand: str | None = None
    slo: tuple[Held, ...] = ()

    @property
    def meets(self) -> bool:
        return all(held.verdict == "met" for held in self.slo)

    @property
    def stands(self) -> bool:
        """Whether it has to be beaten: who misses the SLO, or fails its requests, is no rival."""
        return self.meets and not self.fails

    @property
    def fails(self) -> bool:
        """More than a few of its requests; a share that is not a number is no share to trust."""
        return not self.failed_share <= MOST_FAILED_SHARE

    @property
    def binding(self) -> Held | None:
        """The limit that stands most in the way, or None when all are met."""
        return max((held for held in self.slo if held.verdict != "met"), key=lambda held: held.overrun, default=None)


def recommend(baseline: Entrant, hand: Entrant | None, finalist: Entrant | None) -> Choice:
    """The recommendation of the finals. `hand` None: the hand setting is the baseline.

    The finalist must beat hand setting and baseline beyond the interval, be worse than the hand setting in nothing,
    keep its behaviour and its service changes' intactness, and be shown to meet the SLO; else the hand setting, if it
    beats the baseline, is intact and meets the SLO; else the baseline, if it meets it. Who does not meet the SLO need
    not be beaten.
    """
    # Whoever fails its own requests has no valid effect, and is left out for that below.
    entrants = [side for side in (hand, finalist) if side is not None and not side.fails]
    invalid = [side.vs_baseline is None or side.vs_baseline.verdict == "invalid" for side in entrants]
    hand_unknown = bool(entrants) and entrants[0] is hand and invalid[0]
    if baseline.fails:
        return Choice(None, f"{baseline.failed_share:.0%} of the requests to the baseline failed, so nothing is known")
    if (invalid and all(invalid)) or hand_unknown:
        return Choice(None, "the finals were not valid; see the doubts")
    why_not = ""
    if finalist is not None:
        blocker = _blocker(finalist, hand=hand, baseline=baseline)
        if blocker is None:
            return Choice(finalist.label, f"{finalist.label} {_wins_over(finalist, hand, baseline)}")
        why_not = f"{blocker}; "
    if hand is None:
        tried = why_not or "no other candidate kept its answers and completed; "
        return _baseline_or_nothing(f"{tried}the hand setting is the baseline", baseline, None, finalist)
    blocker = _blocker(hand, hand=None, baseline=baseline)
    if blocker is None:
        return Choice(hand.label, f"{why_not}the hand setting {_wins_over(hand, None, baseline)}")
    return _baseline_or_nothing(f"{why_not}{blocker}", baseline, hand, finalist)


def _wins_over(winner: Entrant, hand: Entrant | None, baseline: Entrant) -> str:
    """In words whom it beats; a rival that misses the SLO is named as such."""
    rivals = [(name, rival) for name, rival in (("the hand setting", hand), ("the baseline", baseline)) if rival]
    beaten = [name for name, rival in rivals if rival.stands]
    missing = [name for name, rival in rivals if not rival.meets]
    failing = [name for name, rival in rivals if rival.meets and not rival.stands]
    parts = [f"beats {' and '.join(beaten)} beyond the interval"] if beaten else []
    if missing:
        parts.append(f"meets the SLO, which {' and '.join(missing)} {'do' if len(missing) > 1 else 'does'} not")
    if failing:
        parts.append(f"answers, where {' and '.join(failing)} failed")
    return ", and ".join(parts)


def _baseline_or_nothing(why: str, baseline: Entrant, hand: Entrant | None, finalist: Entrant | None) -> Choice:
    """The baseline is the answer only if it meets the SLO; else which limit binds, and by how much for the nearest."""
    if baseline.meets:
        return Choice(baseline.label, why)
    found = [(entrant.binding, entrant) for entrant in (finalist, hand, baseline) if entrant is not None]
    nearest, entrant = min(
        ((held, entrant) for held, entrant in found if held is not None), key=lambda pair: pair[0].overrun
    )
    if nearest.verdict == "unknown" and nearest.overrun <= 1:
        return Choice(
            None, f"nothing was shown to meet the SLO; nearest {entrant.label}: {nearest.words()}, not settled"
        )
    times = f", {nearest.overrun:.3g} times it" if nearest.value_ms is not None else ""
    if all(held is not None for held, _ in found):
        return Choice(None, f"nothing meets the SLO; nearest {entrant.label}: {nearest.words()}{times}")
    return Choice(None, f"{why}; the baseline does not meet the SLO: {nearest.words()}{times}")


def _blocker(entrant: Entrant, *, hand: Entrant | None, baseline: Entrant) -> str | None:
    """The first reason not to recommend this candidate, or None."""
    label = entrant.label
    if entrant.fails:
        return f"{entrant.failed_share:.0%} of the requests to {label} failed"
    if entrant.behaviour not in GATE_PASSES:
        return f"{label} did not pass the behaviour gate ({entrant.behaviour})"
    if entrant.intact != "intact":
        return f"the service settings of {label} are {entrant.intact.replace('_', ' ')}"
    binding = entrant.binding
    if binding is not None:
        how = "misses" if binding.verdict == "missed" else "was not shown to meet"
        return f"{label} {how} the SLO ({binding.words()})"
    if hand is not None and hand.stands and not _beats(entrant.vs_hand):
        return f"{label} is {_word(entrant.vs_hand)} against the hand setting"
    if baseline.stands and not _beats(entrant.vs_baseline):
        return f"{label} is {_word(entrant.vs_baseline)} against the baseline"
    if entrant.worse_than_hand is not None and (baseline if hand is None else hand).stands:
        return f"{label} is worse than the hand setting in {entrant.worse_than_hand}"
    return None


def _beats(effect: Effect | None) -> bool:
    return effect is not None and effect.verdict == "better"


def _word(effect: Effect | None) -> str:
    return "unknown" if effect is None else effect.verdict
