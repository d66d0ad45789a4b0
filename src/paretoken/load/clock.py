"""The run's clock: nanoseconds of CLOCK_REALTIME that never step.

Kernel receive stamps are CLOCK_REALTIME, so everything is stamped on that scale; but what the loop waits for must not
jump when somebody sets the clock. So it reads the monotonic clock and adds the offset between the two that held at the
start. How far that offset has moved since then is the step, a fact about the run.
"""

import time


class RunClock:
    def __init__(self) -> None:
        self._offset_ns = _realtime_ahead_ns()

    def now_ns(self) -> int:
        return time.monotonic_ns() + self._offset_ns

    def monotonic_ns(self, moment_ns: int) -> int:
        """One of this clock's moments on the monotonic clock."""
        return moment_ns - self._offset_ns

    def step_ns(self) -> int:
        """How far CLOCK_REALTIME was stepped since the start (slewing moves both clocks alike and does not count)."""
        return _realtime_ahead_ns() - self._offset_ns


def _realtime_ahead_ns() -> int:
    """Realtime minus monotonic, from the tightest of several readings: the process may be interrupted between two."""
    best_span, best_offset = None, 0
    for _ in range(7):
        before = time.monotonic_ns()
        real = time.time_ns()
        after = time.monotonic_ns()
        span = after - before
        if best_span is None or span < best_span:
            best_span, best_offset = span, real - (before + after) // 2
    return best_offset
