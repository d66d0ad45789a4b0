"""Flash attention: attention in one pass, without writing the whole matrix of scores.

The engine decides by itself ("auto", mostly on); switching it off may win where contexts are short.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paretoken.core.candidate import SERVICE_LEVEL, Candidate
from paretoken.techniques.base import Situation, switched_on


class FlashAttention:
    name = "flash_attention"
    level = SERVICE_LEVEL
    needs = "nothing"
    risk = "off, it needs a KV cache of F16 or finer and more memory on long contexts; moves rounding"
    engines: tuple[str, ...] = ("llamacpp",)

    def options(self, situation: Situation) -> list[dict[str, Any]]:
        return [{"flash_attention": "off"}] if situation.engine in self.engines else []

    def words(self, settings: Mapping[str, Any]) -> str:
        return f"flash attention {settings['flash_attention']}"

    def apply(self, candidate: Candidate, settings: Mapping[str, Any], cache: Path | None = None) -> Candidate:
        return switched_on(candidate, self, settings, **settings)
