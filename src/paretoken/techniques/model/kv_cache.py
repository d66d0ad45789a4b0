"""The KV cache in another number type: what the engine remembers of a request, in fewer bytes.

Enters the width of an attention head; leaves the types whose blocks fit it. It rounds what every later token is made
from, so it may change which tokens come, like the number type of the weights.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paretoken.core.candidate import MODEL_LEVEL, Candidate
from paretoken.models.dimensions import dimensions
from paretoken.models.gguf_types import BY_NAME
from paretoken.techniques.base import Situation, switched_on

# Below eight bits the answers of small models fall apart, so those are not worth a trial by themselves.
TYPES = ("q8_0",)


class KvCache:
    name = "kv_cache"
    level = MODEL_LEVEL
    needs = "an engine with types for its KV cache; flash attention for types below F16"
    risk = "rounds keys and values, so answers may move; where decoding is bound by compute it is not faster"
    engines: tuple[str, ...] = ("llamacpp",)

    def options(self, situation: Situation) -> list[dict[str, Any]]:
        width = dimensions(situation.header).head_width
        if situation.engine not in self.engines or width is None:
            return []
        return [{"kv_type": kind} for kind in TYPES if width % BY_NAME[kind.upper()].block_items == 0]

    def words(self, settings: Mapping[str, Any]) -> str:
        return f"KV {settings['kv_type']}"

    def apply(self, candidate: Candidate, settings: Mapping[str, Any], cache: Path | None = None) -> Candidate:
        return switched_on(candidate, self, settings, **settings)
