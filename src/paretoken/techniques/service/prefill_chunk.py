"""Prefill in smaller pieces: how many prompt tokens one step of the engine may hold.

A step serves a new prompt's tokens and one token of every running answer together, so a long prompt makes all of them
wait. Smaller pieces shorten that wait and cost a little arithmetic.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paretoken.core.candidate import SERVICE_LEVEL, Candidate
from paretoken.techniques.base import Situation, switched_on

CHUNK_TOKENS = 64


class PrefillChunk:
    name = "prefill_chunk"
    level = SERVICE_LEVEL
    needs = "prompts longer than a piece"
    risk = "prompts are read a little more slowly; sums in another order move rounding"
    engines: tuple[str, ...] = ("llamacpp",)

    def options(self, situation: Situation) -> list[dict[str, Any]]:
        if situation.engine not in self.engines or situation.tokens_per_request <= CHUNK_TOKENS:
            return []
        return [{"tokens": CHUNK_TOKENS}]

    def words(self, settings: Mapping[str, Any]) -> str:
        return f"prefill in {settings['tokens']}s"

    def apply(self, candidate: Candidate, settings: Mapping[str, Any], cache: Path | None = None) -> Candidate:
        return switched_on(candidate, self, settings, batch=settings["tokens"], ubatch=settings["tokens"])
