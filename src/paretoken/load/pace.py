"""Which request is due when: a closed loop, or an open one, over sessions of several turns.

Enters: the schedule, and what the loop tells it (a request ended at this moment, well or not). Leaves: the next request
and the moment it was due. A turn is due when the turn before it ended, plus the think time. In a closed loop a slot
takes the next session when its session is over; in an open loop a session is due by its arrival, however slow the
others are. The slots of a closed loop open one after another, a moment apart: if all were due at once, the last ones
would be late by our own doing. Where the schedule rests after its warm-up, measured sessions are held back until
`release`. Knows no clock, no socket: a test drives it with numbers.
"""

import heapq
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from paretoken.load.schedule import ClosedLoop, Schedule
from paretoken.units import NS_PER_S

SLOT_OPENS_NS = 250_000  # between two slots: twice what it takes to open a connection and send a request


class Due(NamedTuple):
    due_ns: int
    position: int  # in schedule.requests


class Pace:
    def __init__(self, schedule: Schedule, zero_ns: int) -> None:
        self._think_ns = [round(request.think_s * NS_PER_S) for request in schedule.requests]
        self._sessions = schedule.sessions()
        self._session_of = {position: s for s, turns in enumerate(self._sessions) for position in turns}
        self._issued = [0] * len(self._sessions)  # turns of each session that were fixed so far
        self._due: list[Due] = []
        self._fresh: deque[int] = deque()  # sessions that wait for a slot
        self._arrivals = schedule.arrivals
        self._duration_s = schedule.duration_s
        self._stop_ns: int | None = None
        self._held: Sequence[int] = ()
        warmup = [any(schedule.requests[position].warmup for position in turns) for turns in self._sessions]
        held = [s for s, first in enumerate(warmup) if schedule.rest_after_warmup and not first]
        self._begin([s for s, first in enumerate(warmup) if first or not schedule.rest_after_warmup], zero_ns)
        if held:
            self._held, self._stop_ns = held, None  # a stated duration is that of the measured part

    @property
    def stop_ns(self) -> int | None:
        """From this moment on nothing becomes due; None: until all is sent."""
        return self._stop_ns

    @property
    def next_due_ns(self) -> int | None:
        return self._due[0].due_ns if self._due else None

    def take(self, now_ns: int) -> Due | None:
        """The request that has been due longest, if any is due now."""
        return heapq.heappop(self._due) if self._due and self._due[0].due_ns <= now_ns else None

    def ended(self, position: int, end_ns: int, *, well: bool) -> Sequence[int]:
        """Tell that a request is over. Returns the session's later turns that now will never be due, because a
        conversation does not go on after a turn that failed."""
        session = self._session_of[position]
        turns = self._sessions[session]
        later = turns[self._issued[session] :]
        if well and later:
            self._fix(session, end_ns)
            return ()
        self._issued[session] = len(turns)
        self._slot_free(end_ns)
        return later

    @property
    def holds(self) -> bool:
        """Measured sessions wait for `release`."""
        return bool(self._held)

    def release(self, now_ns: int) -> None:
        """The rest after the warm-up is over: what was held arrives as it was planned, the first of it now."""
        held, self._held = self._held, ()
        self._begin(held, now_ns)

    def _begin(self, sessions: Sequence[int], zero_ns: int) -> None:
        self._stop_ns = None if self._duration_s is None else zero_ns + round(self._duration_s * NS_PER_S)
        if isinstance(self._arrivals, ClosedLoop):
            self._fresh.extend(sessions)
            for slot in range(self._arrivals.concurrency):
                self._slot_free(zero_ns + slot * SLOT_OPENS_NS)
        elif sessions:
            due_s = self._arrivals.due_s
            earlier_s = due_s[sessions[0]] if sessions[0] else 0.0
            for session in sessions:
                self._fix(session, zero_ns + round((due_s[session] - earlier_s) * NS_PER_S))

    def put_back(self, due: Due) -> None:
        """It could not be sent now: it stays due."""
        heapq.heappush(self._due, due)

    def left(self, *, all_turns: bool) -> list[int]:
        """End the pacing. Returns the positions that were fixed but never handed out, and with `all_turns` also those
        that were never fixed, in order; none that was given up."""
        if self._held and not all_turns:
            self.release(0)  # what would have become due
        waiting = [due.position for due in self._due]
        unfixed = [p for turns, issued in zip(self._sessions, self._issued, strict=True) for p in turns[issued:]]
        self._due.clear()
        self._fresh.clear()
        self._held = ()
        self._issued = [len(turns) for turns in self._sessions]
        return sorted(waiting + unfixed if all_turns else waiting)

    def _slot_free(self, moment_ns: int) -> None:
        if self._fresh:
            self._fix(self._fresh.popleft(), moment_ns)

    def _fix(self, session: int, moment_ns: int) -> None:
        """Fix the due moment of a session's next turn, unless the run is over by then."""
        position = self._sessions[session][self._issued[session]]
        due_ns = moment_ns + self._think_ns[position]
        if self._stop_ns is None or due_ns < self._stop_ns:
            self._issued[session] += 1
            heapq.heappush(self._due, Due(due_ns, position))
