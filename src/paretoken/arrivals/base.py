"""What an arrival process is: a pure function from a session's index to the moment it is due.

Enters: an index. Leaves: seconds since the run's start, or None where only the run itself can tell (a closed loop: when
a slot becomes free). Knows neither the workload nor a clock; the same index always gives the same moment.
"""

from typing import Protocol


class Arrivals(Protocol):
    @property
    def concurrency(self) -> int | None:
        """The slots of a closed loop; None for an open one."""

    def due_s(self, index: int) -> float | None:
        """When session `index` (0, 1, 2 …) is due, strictly increasing; None: when a slot becomes free."""
