"""What two models say to the same prompts, greedily: where they part, and whether one of them talks nonsense.

Enter answers as token ids and texts; leave first divergences and a judgement of degeneration. Token ids are compared,
never re-tokenised text. A different answer is shown, not judged: rule 7 judges distances.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paretoken.core.candidate import Model
from paretoken.verification.how import F16, How
from paretoken.verification.logits import BASELINE, CANDIDATE, Answer, Chats, OnProgress, Plan, read_logits
from paretoken.verification.positions import NEAR_TIE_NAT

SYSTEM = "You are a helpful assistant."
PROMPTS = (
    "Explain in two sentences why the sky looks blue.",
    "Write a short, polite message that moves a meeting from Monday to Wednesday.",
    "List three things to check before buying a used bicycle.",
    "What is a good way to learn the names of thirty new colleagues?",
)
ANSWER_TOKENS = 48

# Repetition: the text is one unit of at most so many words (or characters) again and again.
_WORDS = 8
_CHARACTERS = 12
_REPEATED_SHARE = 0.8
_FEWEST_WORDS = 8
_FEWEST_CHARACTERS = 24
_BROKEN_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Divergence:
    """`first_divergence` is the index of the first token that differs, None when neither does."""

    first_divergence: int | None
    common_prefix: int

    @property
    def identical(self) -> bool:
        return self.first_divergence is None


@dataclass(frozen=True, slots=True)
class Pair:
    """One prompt, both answers. `near_tie`: where they part, the baseline's lead was below 0.1 nat."""

    prompt: str
    baseline: Answer
    candidate: Answer
    divergence: Divergence

    @property
    def near_tie(self) -> bool | None:
        at = self.divergence.first_divergence
        if at is None or at >= len(self.baseline.gaps):
            return None
        return self.baseline.gaps[at] < NEAR_TIE_NAT

    def as_json(self) -> dict[str, Any]:
        return {
            "prompt": self.prompt,
            "baseline": self.baseline.text,
            "candidate": self.candidate.text,
            "identical": self.divergence.identical,
            "first_divergence": self.divergence.first_divergence,
            "near_tie": self.near_tie,
        }


def divergence(baseline: Sequence[int], candidate: Sequence[int]) -> Divergence:
    """An answer that merely stops earlier parts from the other where it stops."""
    shared = min(len(baseline), len(candidate))
    at = next((i for i in range(shared) if baseline[i] != candidate[i]), shared)
    return Divergence(None if at == len(baseline) == len(candidate) else at, at)


def pairs_of(answers: Sequence[Answer], prompts: Sequence[str]) -> tuple[Pair, ...]:
    by_model = {(answer.model, answer.prompt): answer for answer in answers}
    pairs = []
    for number, prompt in enumerate(prompts):
        ours, theirs = by_model[BASELINE, number], by_model[CANDIDATE, number]
        pairs.append(Pair(prompt, ours, theirs, divergence(ours.tokens, theirs.tokens)))
    return tuple(pairs)


def chats(prompts: Sequence[str], tokens: int = ANSWER_TOKENS) -> Chats:
    return Chats(tuple((("system", SYSTEM), ("user", prompt)) for prompt in prompts), tokens)


def compare_answers(
    base: Model,
    candidate: Model,
    prompts: Sequence[str] = PROMPTS,
    n: int = ANSWER_TOKENS,
    *,
    kv_type: str = F16,
    on_progress: OnProgress | None = None,
) -> tuple[Pair, ...]:
    """Greedy answers of up to `n` tokens by both models, the candidate's KV cache in `kv_type`. Raises what
    logits.read_logits raises."""
    found = read_logits(
        Plan(base, candidate, chats=chats(prompts, n), candidate_kv_type=How(1, kv_type=kv_type).kv_type),
        on_progress=on_progress,
    )
    return () if found.tokens_differ else pairs_of(found.answers, prompts)


def differing_answers(
    base: Model,
    candidate: Model,
    prompts: Sequence[str] = PROMPTS,
    n: int = ANSWER_TOKENS,
    *,
    kv_type: str = F16,
    on_progress: OnProgress | None = None,
) -> tuple[Pair, ...]:
    """Only the pairs that differ: clear changes before near ties, the earliest divergence first."""
    pairs = compare_answers(base, candidate, prompts, n, kv_type=kv_type, on_progress=on_progress)
    different = [pair for pair in pairs if not pair.divergence.identical]
    return tuple(sorted(different, key=lambda pair: (bool(pair.near_tie), pair.divergence.common_prefix)))


def is_degenerate(text: str) -> bool:
    """Nothing, one unit again and again, or undecodable bytes: what a broken model writes."""
    stripped = text.strip()
    if not stripped:
        return True
    if stripped.count("�") / len(stripped) > _BROKEN_SHARE:
        return True
    words = stripped.split()
    if len(words) >= _FEWEST_WORDS and _repeats(words, _WORDS):
        return True
    return len(stripped) >= _FEWEST_CHARACTERS and _repeats(stripped, _CHARACTERS)


def _repeats(units: Sequence[str], longest: int) -> bool:
    """Some period makes most units equal to the one a period before, at least three times over."""
    for period in range(1, min(longest, len(units) // 4) + 1):
        pairs = len(units) - period
        equal = sum(units[i] == units[i + period] for i in range(pairs))
        if equal >= _REPEATED_SHARE * pairs:
            return True
    return False


def broken_answers(pairs: Sequence[Pair]) -> str | None:
    """What makes the candidate's answers useless where the baseline's are not; None when nothing does.

    One loop can happen to any small model, so it takes more than half of the prompts that the baseline copes with.
    """
    fine = [pair for pair in pairs if not is_degenerate(pair.baseline.text)]
    looping = [pair for pair in fine if is_degenerate(pair.candidate.text)]
    if fine and 2 * len(looping) > len(fine):
        shown = looping[0].candidate.text[:60]
        return f"its answers are degenerate text on {len(looping)} of {len(fine)} prompts: {shown!r}"
    ended = [pair for pair in fine if pair.baseline.ended]
    if len(ended) >= 2 and not any(pair.candidate.ended for pair in pairs):
        return f"its answers never end where the baseline's do ({len(ended)} of {len(pairs)} prompts)"
    return None
