"""A change that lives in the server and shows in no logits of ours: speculation, samplers, prompt cache, replicas.

Enter two ways to start a server, before and after the change; leaves a frozen `TextsIntact`. Both are asked the same
prompts greedily, twice each. An answer that the untouched server gives too, with or without its prompt cache, is the
same; any other is compared token by token up to where it parts: until then every token was chosen in the same context,
so that this is decision rule 6 on the model's own words. Fails closed like intact.judge_intact. Where a server tells
only text, equal answers are intact and any difference is not.

Greedy answers say nothing of how a server draws at other temperatures, or of what a request's own penalties do, unless
`extra_before` and `extra_after` both ask for them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from paretoken.engines.base import Running
from paretoken.verification.floors import Change, Floors
from paretoken.verification.greedy import CHATS, Chat, ask
from paretoken.verification.intact import Counts, weigh
from paretoken.verification.logits import OnProgress
from paretoken.verification.partings import Compared, Round, compared

TOKENS = 32
# Fewer equal tokens show little: of so many, the hazard of parting may still be 2.7 % a token (95 %).
FEWEST_TOKENS = 96

Launch = Callable[[], Running]


@dataclass(frozen=True, slots=True)
class TextsIntact:
    """`found` is the change; `repeat` the floor: the untouched server against its own first answers, asked again and
    under what should only move rounding. `drafts` is (drafted, accepted) tokens before and after."""

    verdict: str  # intact | not_intact | inconclusive
    reason: str
    found: Compared
    repeat: Compared
    near_tie_p: float | None = None
    hard_p: float | None = None
    floors: Floors | None = None
    drafts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    change: str = ""
    evidence: str = "text"

    def as_json(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "reason": self.reason,
            "change": self.change,
            "evidence": self.evidence,
            **self.found.as_json(),
            "near_tie_p": self.near_tie_p,
            "hard_p": self.hard_p,
            "repeat": self.repeat.as_json(),
            "floors": None if self.floors is None else self.floors.as_json(),
            "differing": [part.as_json() for part in self.found.partings],
            "drafts": {
                side: {"draft_n": drafted, "draft_n_accepted": accepted, "acceptance": _share(accepted, drafted)}
                for side, (drafted, accepted) in self.drafts.items()
            },
        }


def check_texts(
    launch_before: Launch,
    launch_after: Launch,
    *,
    extra_before: Mapping[str, Any] | None = None,
    extra_after: Mapping[str, Any] | None = None,
    launch_floor: Launch | None = None,
    floors: Floors | Callable[[], Floors] | None = None,
    chats: Sequence[Chat] = CHATS,
    tokens: int = TOKENS,
    drafts: bool = False,
    change: str = "",
    on_progress: OnProgress | None = None,
) -> TextsIntact:
    """One server after the other, each started here and stopped before the next. `extra_before`, `extra_after`: what
    the engine's settings add to every request. `launch_floor`: the untouched server under a change that only moves
    rounding. `floors`: the model's own, or how to measure them; they are asked for when answers part. `drafts`: the
    change is a speculation, so that equal answers show nothing unless something was drafted.

    Raises EngineError when a server dies or does not answer, and what a launch and `floors` raise.
    """
    tell = on_progress or (lambda _: None)
    tell("asking the server as it was")
    before = _asked(launch_before, chats, tokens, extra_before, as_reference=True)
    if launch_floor is not None:
        tell("asking it with another rounding")
        before = (*before, *_asked(launch_floor, chats, tokens, extra_before, as_reference=True))
    tell("asking the changed server")
    after = _asked(launch_after, chats, tokens, extra_after)
    repeat = compared(before[:1], before[1:])
    found = compared(before, after)
    if found.partings and all(part.gap is not None for part in found.partings) and callable(floors):
        floors = floors()
    known = floors if isinstance(floors, Floors) else None
    judged = judge_texts(found, repeat, known, text_only=_text_only((*before, *after)), change=change)
    judged = replace(judged, drafts={"before": _drafts(before), "after": _drafts(after)})
    if drafts and judged.verdict == "intact" and not judged.drafts["after"][0]:
        return replace(judged, verdict="inconclusive", reason=f"{judged.reason}, but not a token was drafted")
    return judged


def judge_texts(
    found: Compared, repeat: Compared, floors: Floors | None = None, *, text_only: bool = False, change: str = ""
) -> TextsIntact:
    """Rule 6, one-sided 95 %: against the untouched server's own partings, and the model's flips under rounding."""
    near_tie_p = hard_p = None
    partings = len(found.partings)
    where = f"{partings} of {found.answers} answers part from the untouched server's"
    if not found.answers:
        verdict, reason = "inconclusive", "no answers could be compared"
    elif not partings and (text_only or found.tokens >= FEWEST_TOKENS):
        what = "text" if text_only else f"{found.tokens:,} tokens"
        verdict, reason = "intact", f"the very same {what} in all {found.answers} answers"
    elif not partings:
        verdict = "inconclusive"
        reason = f"the same {found.tokens} tokens, but it takes {FEWEST_TOKENS} to show anything"
    elif text_only:
        verdict, reason = "not_intact", f"{where}, and only texts can be compared"
    else:
        near_tie, hard = _counts(found, repeat, floors)
        verdict, reason, near_tie_p, hard_p = weigh(near_tie, hard)
        if found.unknown_flips and verdict != "not_intact":
            verdict = "inconclusive"
            reason = f"{where}, {found.unknown_flips} where its lead over the second is not known"
        else:
            reason = f"{where}: {reason}"
    return TextsIntact(verdict, reason, found, repeat, near_tie_p, hard_p, floors, change=change)


def _counts(found: Compared, repeat: Compared, floors: Floors | None) -> tuple[Counts, Counts]:
    """(near ties, clear tokens), against whichever floor flips the larger share."""
    near = [(repeat.near_tie_flips, repeat.near_ties)]
    hard = [(repeat.hard_flips, repeat.clear)]
    if floors is not None:
        most: Change = floors.most_near_tie_flips
        near.append((most.near_tie_flips, most.near_ties))
        most = floors.most_hard_flips
        hard.append((most.hard_flips, most.positions - most.near_ties))
    return (
        (found.near_tie_flips, found.near_ties, *max(near, key=_share_of)),
        (found.hard_flips, found.clear, *max(hard, key=_share_of)),
    )


def _share_of(counts: tuple[int, int]) -> tuple[float, int]:
    """Of equal shares the one that rests on more."""
    flips, of = counts
    return (flips / of if of else 0.0, of)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _asked(
    launch: Launch,
    chats: Sequence[Chat],
    tokens: int,
    extra: Mapping[str, Any] | None,
    *,
    as_reference: bool = False,
) -> tuple[Round, ...]:
    """Two rounds: what was cached in the first, and another part of the server, answer in the second. As a reference
    with its leads, and in a third round without the prompt cache, which should only move rounding."""
    numbered = list(enumerate(chats))
    with launch() as running:
        rounds = [ask(running, numbered, tokens, extra=extra, gaps=as_reference, first_part=n) for n in range(2)]
        if as_reference and not _text_only(rounds):
            uncached = {**(extra or {}), "cache_prompt": False}
            rounds.append(ask(running, numbered, tokens, extra=uncached, gaps=True))
    return tuple(rounds)


def _text_only(rounds: Sequence[Round]) -> bool:
    return any(said.tokens is None for answers in rounds for said in answers)


def _drafts(rounds: Sequence[Round]) -> tuple[int, int]:
    said = [one for answers in rounds for one in answers]
    return sum(one.drafted for one in said), sum(one.accepted for one in said)
