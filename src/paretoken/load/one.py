"""A single request watched while it is answered, in this process: for a live trace, not for a measurement.

In: a schedule of one request. Out: each read's body bytes as they come, with the seconds since the request's first byte
was sent, and in the end the Record, read from the same frames as those of any run. A server that does not stop is cut
off: by whoever watches, who raises `EnoughHeard`, or here, when the frames have grown beyond a limit.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from paretoken.core.record import Record
from paretoken.load.clock import RunClock
from paretoken.load.lines import lines_of
from paretoken.load.loop import Facts, Loop
from paretoken.load.progress import Progress
from paretoken.load.schedule import Schedule
from paretoken.load.stamps import kernel_stamps
from paretoken.records.capture import END, LEFT, READ, SENT, SINCE_THE_LAST, Frame
from paretoken.records.read import records_of
from paretoken.units import NS_PER_S, show_bytes
from paretoken.wire.http1 import ResponseReader

OnBody = Callable[[float, bytes], None]

CAPTURE_LIMIT = 64 * 1024 * 1024  # of one watched answer
FRAME_COST_BYTES = 256  # what a frame takes beside its data: reads of one byte must not fill the memory either


class EnoughHeard(Exception):
    """Raised by `on_body` to end the exchange at once; its message says why, and becomes the record's."""


@dataclass(frozen=True, slots=True)
class Watched:
    """`facts` is None when the exchange was cut off; `location` is where the server said that it moved to."""

    record: Record
    facts: Facts | None
    location: str | None


class FrameList:
    """Frames in memory, of one request when `on_body` is given: it hears the body bytes of every read (HTTP framing
    taken off) as they come."""

    def __init__(self, on_body: OnBody | None = None) -> None:
        self.frames: list[Frame] = []
        self._on_body = on_body
        self._reader = ResponseReader()
        self._sent_ns: int | None = None
        self._kept_bytes = 0

    @property
    def location(self) -> str | None:
        return self._reader.headers.get("location")

    def append(self, kind: int, request_id: int, t_ns: int, data: bytes = b"", within_ns: int = SINCE_THE_LAST) -> None:
        self.frames.append(Frame(request_id, kind, t_ns, data, within_ns))
        if self._on_body is None:
            return
        if kind == LEFT or (kind == SENT and self._sent_ns is None):
            self._sent_ns = t_ns
        elif kind == READ and self._sent_ns is not None:
            self._kept_bytes += len(data) + FRAME_COST_BYTES
            if self._kept_bytes > CAPTURE_LIMIT:
                raise EnoughHeard(f"the answer went on beyond {show_bytes(CAPTURE_LIMIT)} of reads")
            self._reader.feed(data)
            body = self._reader.take_body()
            if body:
                self._on_body((t_ns - self._sent_ns) / NS_PER_S, body)


def stream_one(schedule: Schedule, on_body: OnBody, on_progress: Callable[[Progress], None] | None = None) -> Watched:
    """Send the schedule's one request. The record's `error` says what went wrong with it; Ctrl-C closes and goes on up.
    `on_progress` is called about once a second, also while nothing comes.

    Raises EndpointError where there is nobody to ask: an unknown host, a key that is not there.
    """
    if len(schedule.requests) != 1:
        raise ValueError(f"one request is streamed, not {len(schedule.requests)}")
    lines = lines_of(schedule)
    clock = RunClock()
    with kernel_stamps():
        zero_ns = clock.now_ns()
        sink = FrameList(on_body)
        loop = Loop(schedule, lines, sink, clock, zero_ns, on_progress=on_progress)
        try:
            facts = loop.run()
        except EnoughHeard as enough:  # the loop has closed its connection
            return Watched(_cut_off(schedule, sink.frames, str(enough)), None, sink.location)
    (record,) = records_of(schedule.as_json(), [facts.frame(zero_ns), *sink.frames], schedule.protocol)
    return Watched(record, facts, sink.location)


def _cut_off(schedule: Schedule, frames: list[Frame], reason: str) -> Record:
    """The record of an answer that was not let come to its end: never ok, whatever it had said by then."""
    last = frames[-1]
    ended = Frame(last.request_id, END, last.t_ns, f"cancelled: {reason}".encode())
    (record,) = records_of(schedule.as_json(), [*frames, ended], schedule.protocol)
    if record.reply.error not in (None, "cancelled"):
        return record
    return replace(record, outcome="failed", reply=replace(record.reply, error="stream_error", error_message=reason))
