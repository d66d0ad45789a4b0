"""How a model's logits are read: the settings of a context, in plain values that cross into the logits child.

Enter threads, batches, flash attention and the number type of the KV cache; a `How` refuses what the engine could not
do. All of it but the KV type should only move rounding (decision rule 6); the KV type belongs to the model (rule 7).
"""

from dataclasses import dataclass

from paretoken.errors import UsageError
from paretoken.models.gguf_types import NUMBER_TYPES

SERVICE = "service"  # what the positions of a change of the service are called
F16 = "f16"
# Number types that the engine keeps a KV cache in, by name → ggml's number.
KV_TYPES = {
    kind.name.lower(): number
    for number, kind in NUMBER_TYPES.items()
    if kind.name in ("F32", "F16", "BF16", "Q8_0", "Q5_1", "Q5_0", "Q4_1", "Q4_0", "IQ4_NL")
}
FLASH_ATTENTION = {"auto": -1, "off": 0, "on": 1}


@dataclass(frozen=True, slots=True)
class How:
    """`threads` decode one token a sequence, `batch_threads` (None: as many) whatever is larger. Raises UsageError."""

    threads: int
    ubatch: int = 512
    flash_attention: str = "auto"
    kv_type: str = F16
    batch_threads: int | None = None

    def __post_init__(self) -> None:
        if self.kv_type not in KV_TYPES:
            raise UsageError(f"kv_type is {self.kv_type!r}; give one of {', '.join(KV_TYPES)}")
        if self.flash_attention not in FLASH_ATTENTION:
            raise UsageError(f"flash_attention is {self.flash_attention!r}; give one of {', '.join(FLASH_ATTENTION)}")
        if quantised(self.kv_type) and self.flash_attention == "off":
            raise UsageError(f"kv_type {self.kv_type} needs flash attention; set flash_attention to auto or on")

    @property
    def prefill_threads(self) -> int:
        return self.threads if self.batch_threads is None else self.batch_threads


def quantised(kv_type: str) -> bool:
    return NUMBER_TYPES[KV_TYPES[kv_type]].quantised
