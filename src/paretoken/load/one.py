"""A single request watched while it is answered, in this process: for a live trace, not for a measurement.

In: a schedule of one request. Out: each read's body bytes as they come, with the seconds since the request's first byte
was sent, and in the end the Record, read from the same frames as those of any run.
"""

from collections.abc import Callable

from paretoken.core.record import Record
from paretoken.load.clock import RunClock
from paretoken.load.connect import connector
from paretoken.load.loop import Facts, Loop
from paretoken.load.message import messages
from paretoken.load.schedule import Schedule
from paretoken.load.sockets import kernel_stamps
from paretoken.records.capture import READ, SENT, Frame
from paretoken.records.read import records_of
from paretoken.units import NS_PER_S
from paretoken.wire.http1 import ResponseReader

OnBody = Callable[[float, bytes], None]


class FrameList:
    """Frames in memory, of one request when `on_body` is given: it hears the body bytes of every read (HTTP framing
    taken off) as they come."""

    def __init__(self, on_body: OnBody | None = None) -> None:
        self.frames: list[Frame] = []
        self._on_body = on_body
        self._reader = ResponseReader()
        self._sent_ns: int | None = None

    def append(self, kind: int, request_id: int, t_ns: int, data: bytes = b"") -> None:
        self.frames.append(Frame(request_id, kind, t_ns, data))
        if self._on_body is None:
            return
        if kind == SENT and self._sent_ns is None:
            self._sent_ns = t_ns
        elif kind == READ and self._sent_ns is not None:
            self._reader.feed(data)
            body = self._reader.take_body()
            if body:
                self._on_body((t_ns - self._sent_ns) / NS_PER_S, body)


def stream_one(schedule: Schedule, on_body: OnBody) -> tuple[Record, Facts]:
    """Send the schedule's one request. The record's `error` says what went wrong with it; Ctrl-C closes and goes on up.

    Raises EndpointError where there is nobody to ask: an unknown host, a key that is not there.
    """
    if len(schedule.requests) != 1:
        raise ValueError(f"one request is streamed, not {len(schedule.requests)}")
    connect = connector(schedule.endpoint.address, schedule.timeouts.connect_s)
    ready_messages = messages(schedule)
    clock = RunClock()
    with kernel_stamps():
        zero_ns = clock.now_ns()
        sink = FrameList(on_body)
        facts = Loop(schedule, ready_messages, connect, sink, clock, zero_ns).run()
    (record,) = records_of(schedule.as_json(), [facts.frame(zero_ns), *sink.frames], schedule.protocol)
    return record, facts
