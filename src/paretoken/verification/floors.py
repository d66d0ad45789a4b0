"""The two floors of decision rule 6: how far a model lies from itself.

`repeat`: the same model, read again under the same settings. The numerics floor: the same weights under changes that
should only move rounding: threads, physical batch, flash attention, what else is in the batch. A floor belongs to a
model, an engine build and a machine; it is measured once and reused for every candidate that is compared with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paretoken.core.candidate import Model
from paretoken.machine.quota import cpu_quota
from paretoken.verification.behaviour import kld_mean
from paretoken.verification.blocks import Mean
from paretoken.verification.how import F16, How, quantised
from paretoken.verification.logits import BASELINE, OnProgress, Plan, Read, read_logits
from paretoken.verification.positions import Positions
from paretoken.verification.text import Text, bundled

# Fewer than a finalist gets: a change costs a whole decode each, and its interval is part of the floor.
FLOOR_POSITIONS = 768
_REPEAT_WINDOWS = 3


@dataclass(frozen=True, slots=True)
class Change:
    """What one change of the settings did to the baseline itself."""

    name: str
    positions: int
    kld: Mean
    near_ties: int
    near_tie_flips: int
    hard_flips: int

    @classmethod
    def seen(cls, name: str, found: Positions) -> "Change":
        return cls(name, len(found), kld_mean(found), found.near_ties, found.near_tie_flips, found.hard_flips)

    @property
    def upper_nat(self) -> float:
        return self.kld.value if self.kld.high is None else self.kld.high

    @property
    def near_tie_share(self) -> float:
        return self.near_tie_flips / self.near_ties if self.near_ties else 0.0

    @property
    def hard_share(self) -> float:
        """Hard flips among the positions that are no near tie."""
        clear = self.positions - self.near_ties
        return self.hard_flips / clear if clear else 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "positions": self.positions,
            "kld": self.kld.as_json(),
            "near_ties": self.near_ties,
            "near_tie_flips": self.near_tie_flips,
            "hard_flips": self.hard_flips,
        }


@dataclass(frozen=True, slots=True)
class Floors:
    """At least one change."""

    repeat: Change
    changes: tuple[Change, ...]

    @property
    def numerics_nat(self) -> float:
        """Rule 7's floor: the largest upper 95 % end of mean KLD among the changes."""
        return max(change.upper_nat for change in self.changes)

    @property
    def most_near_tie_flips(self) -> Change:
        return max(self.changes, key=lambda change: change.near_tie_share)

    @property
    def most_hard_flips(self) -> Change:
        return max(self.changes, key=lambda change: change.hard_share)

    def as_json(self) -> dict[str, Any]:
        return {
            "repeat_nat": self.repeat.kld.value,
            "numerics_nat": self.numerics_nat,
            "repeat": self.repeat.as_json(),
            "changes": [change.as_json() for change in self.changes],
        }


def floor_reads(text: Text, positions: int, threads: int, kv_type: str = F16) -> tuple[Read, ...]:
    """The reads that show the floors, on the first documents of `text` that hold about `positions` positions."""
    windows = max(2, min(len(text.documents), round(positions / text.window_positions)))

    def read(name: str, **changed: Any) -> Read:
        return Read(name, BASELINE, **{"threads": threads, "windows": windows, "kv_type": kv_type, **changed})

    # A quantised KV cache can't be read without flash attention.
    flash_attention = () if quantised(kv_type) else (read("flash_attention", flash_attention="off"),)
    return (
        read("repeat", windows=min(windows, _REPEAT_WINDOWS)),
        # Another number of threads: one where there are several, else two.
        read("threads", threads=1 if threads > 1 else 2),
        read("ubatch", ubatch=32),
        *flash_attention,
        read("batch_composition", alone=True),
    )


def floors_of(found: Mapping[str, Positions], reads: tuple[Read, ...]) -> Floors:
    repeat, *changes = (Change.seen(read.name, found[read.name]) for read in reads)
    return Floors(repeat, tuple(changes))


def measure_floors(
    model: Model,
    *,
    positions: int = FLOOR_POSITIONS,
    text: Text | None = None,
    threads: int | None = None,
    kv_type: str = F16,
    on_progress: OnProgress | None = None,
) -> Floors:
    """Both floors of this model, with its KV cache in `kv_type`, on this machine.

    Raises what logits.read_logits raises."""
    text = bundled(positions) if text is None else text
    threads = cpu_quota() if threads is None else threads
    reads = floor_reads(text, positions, threads, How(threads, kv_type=kv_type).kv_type)
    found = read_logits(Plan(model, text=text, reads=reads, threads=threads, kv_type=kv_type), on_progress=on_progress)
    return floors_of(found.positions, reads)
