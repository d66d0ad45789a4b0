"""The prompt cache: what was read of a prompt is kept, and a request that begins alike starts behind it.

The engine has it on by itself. What is tried here is without it, to see what it brings; the hit rate stands beside.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paretoken.core.candidate import SERVICE_LEVEL, Candidate
from paretoken.techniques.base import Situation, switched_on


class PromptCache:
    name = "prompt_cache"
    level = SERVICE_LEVEL
    needs = "prompts that begin alike"
    risk = "without it every prompt is read from its start"
    engines: tuple[str, ...] = ("llamacpp",)

    def options(self, situation: Situation) -> list[dict[str, Any]]:
        return [{"prompt_cache": False}] if situation.engine in self.engines else []

    def words(self, settings: Mapping[str, Any]) -> str:
        return "with prompt cache" if settings["prompt_cache"] else "no prompt cache"

    def apply(self, candidate: Candidate, settings: Mapping[str, Any], cache: Path | None = None) -> Candidate:
        return switched_on(candidate, self, settings, **settings)
