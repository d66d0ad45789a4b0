"""Threads: one fewer than there are cores.

An engine whose threads spin on every core leaves none to the client and the system, and every thread waits for the
one that was interrupted. One fewer costs its share of the arithmetic and may win it back.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paretoken.core.candidate import SERVICE_LEVEL, Candidate
from paretoken.techniques.base import Situation, switched_on


class Threads:
    name = "threads"
    level = SERVICE_LEVEL
    needs = "two cores or more"
    risk = "less arithmetic a second; sums in another order move rounding"
    engines: tuple[str, ...] = ("llamacpp",)

    def options(self, situation: Situation) -> list[dict[str, Any]]:
        if situation.engine not in self.engines or situation.threads < 2:
            return []
        return [{"threads": situation.threads - 1}]

    def words(self, settings: Mapping[str, Any]) -> str:
        return f"{settings['threads']} thread{'s' if settings['threads'] > 1 else ''}"

    def apply(self, candidate: Candidate, settings: Mapping[str, Any], cache: Path | None = None) -> Candidate:
        return switched_on(candidate, self, settings, threads=settings["threads"], batch_threads=settings["threads"])
