"""Speculation by n-grams: what followed the same words before is proposed, and checked in one step.

The check keeps exactly the tokens that would have come anyway. It pays where answers repeat their prompt (edits,
extraction, code) and costs where they do not, so acceptance alone is no proof: it is measured like anything else.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paretoken.core.candidate import SERVICE_LEVEL, Candidate
from paretoken.techniques.base import Situation, switched_on


class Speculate:
    name = "speculate"
    level = SERVICE_LEVEL
    needs = "answers that repeat words of their prompt"
    risk = "rejected proposals cost time: it must pay for itself on this very load"
    engines: tuple[str, ...] = ("llamacpp",)

    def options(self, situation: Situation) -> list[dict[str, Any]]:
        if situation.engine not in self.engines:
            return []
        return [{"speculation": "ngram-simple"}]

    def words(self, settings: Mapping[str, Any]) -> str:
        return f"speculation {settings['speculation']}"

    def apply(self, candidate: Candidate, settings: Mapping[str, Any], cache: Path | None = None) -> Candidate:
        return switched_on(candidate, self, settings, **settings)
