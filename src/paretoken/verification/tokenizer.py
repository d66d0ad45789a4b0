"""Whether two models speak of the same tokens, stop at the same ones, and are asked in the same words.

Enter the identities that the logits child reads from both files; leave one word or one sentence. Sizes of vocabularies
prove nothing: embedding rows are padded differently for one and the same token map.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """`tokenizer_tokens` and `tokenizer_sha` leave out padding rows; `vocab_size` counts them."""

    vocab_size: int
    tokenizer_tokens: int
    tokenizer_sha: str
    stop_tokens: tuple[int, ...] = field(default=())
    template_sha: str | None = None

    @classmethod
    def from_event(cls, event: Mapping[str, Any]) -> Self:
        return cls(
            vocab_size=event["vocab_size"],
            tokenizer_tokens=event["tokenizer_tokens"],
            tokenizer_sha=event["tokenizer_sha"],
            stop_tokens=tuple(event["stop_tokens"]),
            template_sha=event["template_sha"],
        )

    def same_tokens(self, other: "Tokenizer") -> bool:
        return (self.tokenizer_tokens, self.tokenizer_sha) == (other.tokenizer_tokens, other.tokenizer_sha)


def compatibility(target: Tokenizer, draft: Tokenizer) -> str:
    """compatible | incompatible: may one model's tokens be fed to the other?"""
    return "compatible" if target.same_tokens(draft) else "incompatible"


def mismatch(baseline: Tokenizer, candidate: Tokenizer) -> str | None:
    """What makes the candidate another model to its users, however close its weights are; None when nothing does."""
    if not baseline.same_tokens(candidate):
        return (
            f"its tokenizer differs from the baseline's ({candidate.tokenizer_tokens:,} against "
            f"{baseline.tokenizer_tokens:,} tokens, or other ones)"
        )
    if baseline.stop_tokens != candidate.stop_tokens:
        return "its stop tokens differ from the baseline's, so its answers end elsewhere or never"
    if baseline.template_sha != candidate.template_sha:
        return "its chat template differs from the baseline's, so it is asked in other words"
    return None
