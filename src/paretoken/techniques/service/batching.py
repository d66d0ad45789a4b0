"""Batching: how many requests the engine decodes together (its slots).

Enters the stated load and the model's context; leaves slot counts, each with the context that a slot needs. An engine
splits its context over its slots, so the context is always given per slot: more slots never shorten a request.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paretoken.core.candidate import SERVICE_LEVEL, Candidate
from paretoken.errors import UsageError
from paretoken.models.dimensions import dimensions
from paretoken.techniques.base import Situation, switched_on

CONTEXT_STEP = 256  # llama.cpp rounds a slot's context up to this


class Batching:
    name = "batching"
    level = SERVICE_LEVEL
    needs = "an engine that decodes several requests in one step; memory for one KV cache a slot"
    risk = "each answer slows down when all slots are busy; sums in another order move rounding"
    engines: tuple[str, ...] = ("llamacpp", "scripted")

    def options(self, situation: Situation) -> list[dict[str, Any]]:
        """One slot, half the streams, all of them. Raises UsageError when one request exceeds the model's context."""
        if situation.engine not in self.engines:
            return []
        counts = sorted({1, -(-situation.streams // 2), situation.streams})
        if situation.engine == "scripted":  # it has no context to split
            return [{"slots": count} for count in counts]
        context = context_per_slot(situation.tokens_per_request, dimensions(situation.header).context_tokens)
        return [{"slots": count, "context_per_slot": context} for count in counts]

    def apply(self, candidate: Candidate, settings: Mapping[str, Any], cache: Path | None = None) -> Candidate:
        return switched_on(candidate, self, settings, **settings)

    def words(self, settings: Mapping[str, Any]) -> str:
        return f"{settings['slots']} slot{'s' if settings['slots'] > 1 else ''}"


def context_per_slot(tokens_per_request: int, model_context_tokens: int | None) -> int:
    """The context that one slot needs for one request, in the engine's steps, inside the model's own limit."""
    if model_context_tokens is not None and tokens_per_request > model_context_tokens:
        raise UsageError(
            f"a request of {tokens_per_request} tokens does not fit the model's context of {model_context_tokens}; "
            "make the prompt or the answer shorter"
        )
    rounded = -(-tokens_per_request // CONTEXT_STEP) * CONTEXT_STEP
    return rounded if model_context_tokens is None else min(rounded, model_context_tokens)
