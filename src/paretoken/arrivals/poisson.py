"""An open loop: sessions arrive at a mean rate with exponential gaps, whether or not earlier ones were answered.

Enters: a rate, a seed, an index. Leaves: the due moment. The gaps are drawn from the seed alone and scaled by the rate,
so two runs of one seed meet the same pattern at any rate.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from paretoken.errors import UsageError


@dataclass(frozen=True, slots=True)
class Poisson:
    rate_per_s: float
    seed: int

    def __post_init__(self) -> None:
        if not (math.isfinite(self.rate_per_s) and self.rate_per_s > 0):
            raise UsageError(f"a rate must be above zero requests a second, not {self.rate_per_s}")

    @property
    def concurrency(self) -> int | None:
        return None

    def due_s(self, index: int) -> float | None:
        if index < 0:
            raise ValueError(f"a session's index starts at 0, not {index}")
        # A power of two at least, so that asking for 0, 1, 2 … costs time in proportion to the last index only.
        return _unit_moments(self.seed, 1 << (index | 63).bit_length())[index] / self.rate_per_s


@lru_cache(maxsize=32)
def _unit_moments(seed: int, count: int) -> tuple[float, ...]:
    """The first `count` arrivals of a process of rate 1; a larger count only continues the same sequence."""
    random = Random(seed)
    moments: list[float] = []
    moment = 0.0
    for _ in range(count):
        # nextafter keeps the order strict even where a gap is below the resolution of a float.
        moment = max(moment + random.expovariate(1.0), math.nextafter(moment, math.inf))
        moments.append(moment)
    return tuple(moments)
