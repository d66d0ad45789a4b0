"""What was found at each teacher-forced position, in the parent: frozen arrays of one length.

Enter the child's events; leave `Positions`, with the derived facts that every judgement uses: same top token, flips,
near ties. Nothing here judges.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Decision rule 6: below this top-2 gap of the baseline a flip may be rounding alone.
NEAR_TIE_NAT = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Positions:
    """One number a position in every array; `document` says which document, the unit of resampling, it is in."""

    document: Ints
    kld: Floats  # Σ p (ln p − ln q) over the vocabulary, nats
    log_ratio: Floats  # ln p_t − ln q_t of the token that really comes next
    delta_p: Floats  # q_t − p_t
    base_nll: Floats  # −ln p_t
    gap: Floats  # the baseline's best over its second best, nats
    base_top: Ints
    top: Ints

    @classmethod
    def from_events(cls, events: Iterable[Mapping[str, Any]]) -> Self:
        """From the child's `positions` events, in the order of their documents."""
        ordered = sorted(events, key=lambda event: int(event["document"]))
        arrays: dict[str, Any] = {}
        for field in fields(cls):
            kind = np.int64 if field.name in ("document", "base_top", "top") else np.float64
            parts = [
                np.full(len(event["kld"]), event["document"])
                if field.name == "document"
                else np.asarray(event[field.name], dtype=kind)
                for event in ordered
            ]
            arrays[field.name] = np.concatenate(parts).astype(kind) if parts else np.empty(0, dtype=kind)
        return cls(**arrays)

    def where(self, chosen: Flags) -> Self:
        return type(self)(**{field.name: getattr(self, field.name)[chosen] for field in fields(self)})

    def __len__(self) -> int:
        return len(self.kld)

    @property
    def documents(self) -> int:
        return len(np.unique(self.document))

    @property
    def same_top(self) -> Flags:
        same: Flags = self.base_top == self.top
        return same

    @property
    def near_ties(self) -> int:
        return int((self.gap < NEAR_TIE_NAT).sum())

    @property
    def near_tie_flips(self) -> int:
        return int((~self.same_top & (self.gap < NEAR_TIE_NAT)).sum())

    @property
    def hard_flips(self) -> int:
        return int((~self.same_top & ~(self.gap < NEAR_TIE_NAT)).sum())

    @property
    def first_broken(self) -> int | None:
        """The first position whose distance is not a number (or infinite), if any."""
        broken = ~(np.isfinite(self.kld) & np.isfinite(self.log_ratio))
        return int(broken.argmax()) if broken.any() else None

    @property
    def bit_equal(self) -> bool:
        """No distance at all anywhere: the very same numbers came out."""
        return len(self) > 0 and not np.any(self.log_ratio) and bool(self.same_top.all()) and not np.any(self.delta_p)
