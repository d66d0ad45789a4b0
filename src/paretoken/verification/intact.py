"""Decision rule 6: does a service-level change only move rounding?

Enter teacher-forced positions of one and the same model under the change, and the floors of that model; leaves a frozen
`Intact`: intact, not_intact or inconclusive, with its counts. Fails closed: that a test finds no difference is no proof
that there is none. Unless the very same numbers came out, `intact` takes counts that leave no room for many more flips
than the floor's.
"""

from dataclasses import dataclass
from typing import Any

from paretoken.verification.behaviour import kld_mean
from paretoken.verification.blocks import Mean
from paretoken.verification.exact import more_often
from paretoken.verification.floors import Floors
from paretoken.verification.positions import Positions
from paretoken.verification.shares import excess_high

ALPHA = 0.05
# Below this many near ties a share of flips among them says nothing.
FEWEST_NEAR_TIES = 20
# `intact` bounds what may have been missed: at most this much may a share of flips lie above the floor's, by the
# one-sided upper 95 % end of the difference. Near ties are about one position in eight, and rounding flips up to two in
# five of them; the counts of SLOT_POSITIONS are just enough for it.
NEAR_TIE_ROOM = 0.2
HARD_ROOM = 0.02
SLOT_POSITIONS = 512


@dataclass(frozen=True, slots=True)
class Intact:
    """`hard_p` and `near_tie_p`: how likely so many flips are if the change flips no more than the floor does."""

    verdict: str  # intact | not_intact | inconclusive
    reason: str
    positions: int
    near_ties: int
    near_tie_flips: int
    hard_flips: int
    near_tie_p: float | None
    hard_p: float | None
    kld: Mean
    floors: Floors | None
    change: str = ""
    evidence: str = "logits"

    def as_json(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "reason": self.reason,
            "change": self.change,
            "evidence": self.evidence,
            "positions": self.positions,
            "near_ties": self.near_ties,
            "near_tie_flips": self.near_tie_flips,
            "hard_flips": self.hard_flips,
            "near_tie_p": self.near_tie_p,
            "hard_p": self.hard_p,
            "kld": self.kld.as_json(),
            "floors": None if self.floors is None else self.floors.as_json(),
        }


def judge_intact(found: Positions, floors: Floors | None, change: str = "") -> Intact:
    """Both shares of flips, hard and near-tie, against the floor's change that flips the most (one-sided 95 %)."""
    near_tie_p = hard_p = None
    if found.first_broken is not None:
        verdict, reason = "not_intact", f"the distance at position {found.first_broken} is not a number"
    elif found.bit_equal:
        verdict, reason = "intact", f"the very same numbers at all {len(found):,} positions"
    elif floors is None:
        verdict, reason = "inconclusive", "rounding was not measured, so flips can't be told from it"
    else:
        near_tie, hard = _counts(found, floors)
        verdict, reason, near_tie_p, hard_p = weigh(near_tie, hard)
    return Intact(
        verdict=verdict,
        reason=reason,
        positions=len(found),
        near_ties=found.near_ties,
        near_tie_flips=found.near_tie_flips,
        hard_flips=found.hard_flips,
        near_tie_p=near_tie_p,
        hard_p=hard_p,
        kld=kld_mean(found),
        floors=floors,
        change=change,
    )


# Flips and of how many positions, then the same of the floor's change that flips the most.
Counts = tuple[int, int, int, int]


def _counts(found: Positions, floors: Floors) -> tuple[Counts, Counts]:
    """(near ties, clear positions)."""
    near, hard = floors.most_near_tie_flips, floors.most_hard_flips
    clear, floor_clear = len(found) - found.near_ties, hard.positions - hard.near_ties
    return (
        (found.near_tie_flips, found.near_ties, near.near_tie_flips, near.near_ties),
        (found.hard_flips, clear, hard.hard_flips, floor_clear),
    )


def weigh(near_tie: Counts, hard: Counts) -> tuple[str, str, float, float]:
    """(verdict, reason, near_tie_p, hard_p) of both shares."""
    near_tie_p, hard_p = more_often(*near_tie), more_often(*hard)
    return *_verdict(near_tie, hard, near_tie_p, hard_p), near_tie_p, hard_p


def _verdict(near_tie: Counts, hard: Counts, near_tie_p: float, hard_p: float) -> tuple[str, str]:
    near_flips, near_ties, _, floor_near_ties = near_tie
    hard_flips, clear, floor_hard_flips, floor_clear = hard
    counts = f"{hard_flips} hard and {near_flips} near-tie flips at {near_ties + clear:,} positions"
    if hard_flips and not floor_hard_flips:
        return "not_intact", f"{counts}, where rounding alone makes no hard flip"
    if hard_p < ALPHA:
        return "not_intact", f"{counts}: more hard flips than rounding alone makes (p = {hard_p:.2g})"
    if near_tie_p < ALPHA:
        return "not_intact", f"{counts}: more near-tie flips than rounding alone makes (p = {near_tie_p:.2g})"
    if hard_flips * floor_clear > floor_hard_flips * clear:
        floor_share = f"{floor_hard_flips} at {floor_clear:,} clear positions"
        larger = f"a larger share of hard flips than rounding makes ({floor_share}), perhaps by chance"
        return "inconclusive", f"{counts}: {larger}"
    if min(near_ties, floor_near_ties) < FEWEST_NEAR_TIES:
        return "inconclusive", f"{counts}, but too few near ties to compare their flips with rounding's"
    for what, found, room in (("near-tie", near_tie, NEAR_TIE_ROOM), ("hard", hard, HARD_ROOM)):
        high = excess_high(*found)
        if high > room:
            may = f"the share of {what} flips may lie {high:.2g} above rounding's (95 %), and {room:g} is let pass"
            return "inconclusive", f"{counts}: {may}; more positions would narrow it down"
    return "intact", f"{counts}: no more than rounding alone makes"
