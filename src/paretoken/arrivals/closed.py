"""A closed loop: a fixed number of streams, each asking again as soon as it was answered.

The load follows the server's speed, so due moments can't be known beforehand: load/pace.py fixes them while running.
"""

from dataclasses import dataclass

from paretoken.errors import UsageError


@dataclass(frozen=True, slots=True)
class Closed:
    concurrency: int

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise UsageError(f"a closed loop needs at least one stream, not {self.concurrency}")

    def due_s(self, index: int) -> float | None:
        return None
