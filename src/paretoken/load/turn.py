"""What a turn of the loop knows of everything that is read in it: the moment up to which nothing of it had come.

The poller says what is ready when it is asked. What it did not name in the turn before had not come when it was asked
then, and what it named was read since: so much always holds. Where this turn's question slept, nothing was ready until
shortly before its end: before it by the time that we were kept from running, which Linux counts (the second number of
/proc/self/schedstat), and by that of waking, which is known from the stamps of earlier turns that woke for one read.
Knows no socket.
"""

import os
from collections import deque
from pathlib import Path

_SCHEDSTAT = Path("/proc/self/schedstat")
_SLEPT_NS = 200_000  # no question that finds an answer ready takes this long while we run
_WAKINGS = 64  # of which the longest counts
_FEWEST_WAKINGS = 3


class Turn:
    __slots__ = ("_delays", "_wakings", "asked_ns", "merged", "since_ns", "woke_ns")

    def __init__(self) -> None:
        self.since_ns = 0  # when the poller was asked in the turn before
        self.asked_ns = 0
        self.woke_ns = 0  # when it had answered
        self.merged = 0  # reads whose bytes came in more than one segment, as far as is known
        self._delays = Delays()
        self._wakings: deque[int] = deque(
            maxlen=_WAKINGS
        )  # from the arrival that ended a sleep to our look at the clock

    def woken_by(self, t_ns: int) -> None:
        """The first that was read in this turn came at `t_ns`, as far as the kernel's stamp is exact."""
        if self.woke_ns - self.asked_ns > _SLEPT_NS:
            self._wakings.append(self.woke_ns - t_ns)

    def after_ns(self, t_ns: int) -> int:
        """Nothing of what was read in this turn, and ended at `t_ns`, had come by then."""
        delayed_ns = self._delays.since_last_ns()
        if delayed_ns is None or len(self._wakings) < _FEWEST_WAKINGS:
            return self.since_ns
        delayed_ns += max(self._wakings)
        slept = self.woke_ns - self.asked_ns - delayed_ns > _SLEPT_NS
        # If even the end came before, it took us longer to wake than ever before, and nothing follows from the sleep.
        found_ns = self.woke_ns - delayed_ns
        return max(self.since_ns, found_ns) if slept and found_ns < t_ns else self.since_ns

    def look(self) -> None:
        """Now and then, so that the delays between two questions stay few."""
        self._delays.since_last_ns()

    def close(self) -> None:
        self._delays.close()


class Delays:
    """For how long this process was ready to run and did not."""

    def __init__(self) -> None:
        try:
            self._fd: int | None = os.open(_SCHEDSTAT, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # not Linux, or a kernel without it
            self._fd = None
        self._last_ns = 0
        self.since_last_ns()

    def since_last_ns(self) -> int | None:
        """Since the last such question; None where it is not counted."""
        if self._fd is None:
            return None
        try:
            total_ns = int(os.pread(self._fd, 64, 0).split()[1])
        except (OSError, ValueError, IndexError):
            return None
        before_ns, self._last_ns = self._last_ns, total_ns
        return total_ns - before_ns

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
