"""The endpoints of a run as the loop uses them: how to connect, what to send, and which of them a request goes to.

Enters a schedule; leaves a `Line` an endpoint, and a `Spread` over them. A session stays where its first turn went: its
prefix lies in that replica's cache. A new session goes to the least busy, the first of equals. Where there is one
endpoint nothing has to be chosen.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paretoken.load.connect import connector
from paretoken.load.message import messages
from paretoken.load.schedule import Schedule
from paretoken.load.sockets import Connection


@dataclass(frozen=True, slots=True)
class Line:
    """`connect` opens one connection; `messages` are the finished bytes of the schedule's requests, for this host."""

    connect: Callable[[], Connection]
    messages: Sequence[bytes]


def lines_of(schedule: Schedule) -> list[Line]:
    """Raises EndpointError where a host is not known, or the key is not there."""
    connects = [connector(endpoint.address, schedule.timeouts.connect_s) for endpoint in schedule.endpoints]
    return [Line(connect, sent) for connect, sent in zip(connects, messages(schedule), strict=True)]


class Spread:
    def __init__(self, lines: int, sessions: Sequence[int]) -> None:
        """`sessions`: the session of each request, by position."""
        self._sessions = sessions
        self._line_of_session: dict[int, int] = {}
        self._in_flight = [0] * lines
        self.requests = [0] * lines  # begun on each line

    def choose(self, position: int) -> int:
        """The line for this request, which counts as in flight there from now on."""
        session = self._sessions[position]
        line = self._line_of_session.get(session)
        if line is None:
            line = min(range(len(self._in_flight)), key=self._in_flight.__getitem__)
            self._line_of_session[session] = line
        self._in_flight[line] += 1
        self.requests[line] += 1
        return line

    def over(self, line: int) -> None:
        self._in_flight[line] -= 1
