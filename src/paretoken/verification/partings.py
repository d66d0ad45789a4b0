"""Where answers to the same prompts part, and how many chances they had to.

Enter rounds of answers of a reference, and of another server; leaves a frozen `Compared`. Pure counting, no verdict.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paretoken.verification.answers import divergence
from paretoken.verification.greedy import Said
from paretoken.verification.positions import NEAR_TIE_NAT
from paretoken.verification.shares import share_high

Round = tuple[Said, ...]  # one answer a prompt


@dataclass(frozen=True, slots=True)
class Parting:
    """Two answers to one prompt that are not the same. `at` counts tokens (characters where there are none); `gap` is
    the reference's lead there, None when it is not known."""

    prompt: int
    round: int
    at: int
    gap: float | None
    before: str
    after: str

    def as_json(self) -> dict[str, Any]:
        return {
            "prompt": self.prompt,
            "round": self.round,
            "first_divergence": self.at,
            "gap_nat": self.gap,
            "near_tie": None if self.gap is None else self.gap < NEAR_TIE_NAT,
            "before": self.before,
            "after": self.after,
        }


@dataclass(frozen=True, slots=True)
class Compared:
    """Answers held against a reference's. Only tokens up to the first that differs count: each was a chance to part."""

    answers: int = 0
    tokens: int = 0
    near_ties: int = 0  # of those tokens whose lead is known
    clear: int = 0
    partings: tuple[Parting, ...] = ()

    @property
    def near_tie_flips(self) -> int:
        return sum(part.gap is not None and part.gap < NEAR_TIE_NAT for part in self.partings)

    @property
    def hard_flips(self) -> int:
        return sum(part.gap is not None and not part.gap < NEAR_TIE_NAT for part in self.partings)

    @property
    def unknown_flips(self) -> int:
        return sum(part.gap is None for part in self.partings)

    def as_json(self) -> dict[str, Any]:
        hazard = None
        if self.tokens:
            flips = len(self.partings)
            hazard = {"value": flips / self.tokens, "high95": share_high(flips, self.tokens)}
        return {
            "answers": self.answers,
            "positions": self.tokens,
            "near_ties": self.near_ties,
            "near_tie_flips": self.near_tie_flips,
            "hard_flips": self.hard_flips,
            "unknown_flips": self.unknown_flips,
            "hazard": hazard,
        }


def compared(references: Sequence[Round], others: Sequence[Round]) -> Compared:
    """Each answer against the reference's to the same prompt that it follows the longest. An answer that was given in
    an earlier round already is left out: it would count twice."""
    answers = tokens = near_ties = clear = 0
    partings: list[Parting] = []
    for number, round_ in enumerate(others):
        for prompt, theirs in enumerate(round_):
            if any(_words(theirs) == _words(earlier[prompt]) for earlier in others[:number]):
                continue
            ours, at = _nearest([reference[prompt] for reference in references], theirs)
            answers += 1
            told = ours.tokens is not None and theirs.tokens is not None
            if at is not None:
                gap = ours.gaps[at] if told and at < len(ours.gaps) else None
                partings.append(Parting(theirs.prompt, number, at, gap, ours.text, theirs.text))
            if told and ours.tokens is not None:
                reached = len(ours.tokens) if at is None else min(at + 1, len(ours.tokens))
                tokens += reached
                leads = [gap for gap in ours.gaps[:reached] if gap is not None]
                near_ties += sum(gap < NEAR_TIE_NAT for gap in leads)
                clear += sum(not gap < NEAR_TIE_NAT for gap in leads)
    return Compared(answers, tokens, near_ties, clear, tuple(partings))


def _nearest(references: Sequence[Said], theirs: Said) -> tuple[Said, int | None]:
    """The reference that parts last, and where; None: nowhere."""
    found = [(ours, divergence(_words(ours, theirs), _words(theirs, ours)).first_divergence) for ours in references]
    return next(((ours, at) for ours, at in found if at is None), None) or max(found, key=lambda one: one[1] or 0)


def _words(said: Said, other: Said | None = None) -> tuple[int, ...]:
    """What is compared: tokens, or characters where one of the two servers tells only text."""
    if said.tokens is None or (other is not None and other.tokens is None):
        return tuple(map(ord, said.text))
    return said.tokens
