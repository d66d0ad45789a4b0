"""The sampler chain: in which order, and through which filters, the next token is drawn.

Leaving out filters that do nothing at their default values draws from the same distribution, perhaps with less work
over the whole vocabulary.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paretoken.core.candidate import SERVICE_LEVEL, Candidate
from paretoken.techniques.base import Situation, switched_on


class Samplers:
    name = "samplers"
    level = SERVICE_LEVEL
    needs = "requests that do not ask for top-n-sigma, typical-p or XTC"
    risk = "a request that asks for a filter that was left out does not get it"
    engines: tuple[str, ...] = ("llamacpp",)

    def options(self, situation: Situation) -> list[dict[str, Any]]:
        return [{"samplers": "short"}] if situation.engine in self.engines else []

    def words(self, settings: Mapping[str, Any]) -> str:
        return f"{settings['samplers']} sampler chain"

    def apply(self, candidate: Candidate, settings: Mapping[str, Any], cache: Path | None = None) -> Candidate:
        return switched_on(candidate, self, settings, **settings)
