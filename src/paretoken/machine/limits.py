"""This machine's measured limits, in a few seconds: the numbers that MBU and MFU are shares of.

Leaves values with how they were got; keeping them (by the machine's fingerprint) is the caller's business.
"""

from dataclasses import dataclass
from typing import Any

from paretoken.machine.bandwidth import read_gb_s
from paretoken.machine.flops import flops
from paretoken.machine.quota import cpu_quota

# Goes up with every change of how the limits are measured, so that values kept by the old way are not used.
METHOD = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """GB/s and FLOP/s in decimal units, `threads` of them at once where not said otherwise."""

    threads: int
    read_gb_s: float
    read_gb_s_one_thread: float
    flop_s: float
    how: str

    @property
    def read_bytes_per_s(self) -> float:
        return self.read_gb_s * 1e9

    def as_json(self) -> dict[str, Any]:
        return {
            "threads": self.threads,
            "read_gb_s": self.read_gb_s,
            "read_gb_s_one_thread": self.read_gb_s_one_thread,
            "flop_s": self.flop_s,
            "how": self.how,
        }


def limits() -> Limits:
    """Measures for about four seconds; nothing else should run meanwhile."""
    threads = cpu_quota()
    one = read_gb_s(1)
    # Several threads never read slower than one: where they did, somebody else was reading.
    together = one if threads == 1 else max(one, read_gb_s(threads))
    flop_s, blas = flops(threads)
    how = (
        "read: best pass of numpy xor over 64-bit words, buffer at least 512 MiB and eight times the last cache; "
        f"FLOP/s: best float32 matrix product in a child process with {blas}, {threads} threads"
    )
    return Limits(threads, together, one, flop_s, how)
