"""One request on its connection: connect, send, read to the end of the response, and stamp each step.

In: the request's bytes, a connection, the sink of frames. Out: frames, and `how` it ended. Only HTTP framing is read,
to know where the response ends; what the server says is never looked at. It does not wait and opens nothing: the loop
calls it when its connection can be read or written.
"""

from collections.abc import Callable
from typing import Any, Protocol

from paretoken.load.poller import READ, WRITE
from paretoken.load.sockets import Connection
from paretoken.load.stamps import stamp_of
from paretoken.load.turn import Turn
from paretoken.records.capture import CONNECTED, END, LEFT, SENT, SINCE_THE_LAST, STARTED
from paretoken.records.capture import READ as READ_FRAME
from paretoken.wire.framing import ResponseEnd

STALE = "stale"  # the server closed a kept connection and answered nothing on it: try another one

_CONNECTING, _SENDING, _READING = range(3)


class Sink(Protocol):
    """Where frames go: records.capture.CaptureWriter, or a list."""

    def append(
        self, kind: int, request_id: int, t_ns: int, data: bytes = b"", within_ns: int = SINCE_THE_LAST
    ) -> None: ...


class Exchange:
    __slots__ = (
        "_bytes_before",
        "_left_known",
        "_message",
        "_now",
        "_reader",
        "_reads_before",
        "_reused",
        "_sent",
        "_sink",
        "_state",
        "_turn",
        "connection",
        "end_ns",
        "heard",
        "how",
        "id",
        "interest",
        "line",
        "ordinary",
        "position",
        "quiet_since_ns",
        "started_ns",
        "unstamped",
        "unstamped_sends",
    )

    connection: Connection  # from `take` on

    def __init__(
        self, position: int, line: int, request_id: int, message: bytes, sink: Sink, now: Callable[[], int], turn: Turn
    ) -> None:
        """`line`: which of the run's endpoints it goes to. `turn` is the loop's present one."""
        self.position = position
        self.line = line
        self.id = request_id
        self._message = message
        self._sink = sink
        self._now = now
        self._turn = turn
        self._reader = ResponseEnd()
        self._state = _CONNECTING
        self.interest = WRITE  # what it waits for
        self._reused = False
        self._sent = 0
        self._left_known = True  # whether there is no transmit stamp to wait for
        self.started_ns = 0
        self.end_ns = 0
        self.how: str | None = None
        self.ordinary = False  # whether the next read may go the short way (intake.py)
        self._reads_before = self._bytes_before = 0
        self.unstamped = 0  # reads without a stamp of the kernel's
        self.unstamped_sends = 0
        self.heard = 0  # reads when the loop last looked
        self.quiet_since_ns = 0

    def start(self, started_ns: int) -> None:
        self.started_ns = self.quiet_since_ns = started_ns
        self._sink.append(STARTED, self.id, started_ns)

    def take(self, connection: Connection, *, reused: bool) -> None:
        """Take a connection, which stands already (reused) or is being opened, and go as far as it lets."""
        self.connection = connection
        self._reused = reused
        self._sent = 0
        self._state = _CONNECTING
        if reused:
            self._begin()
        self._write()

    def _begin(self) -> None:
        """The connection stands: what is read from now on is the answer."""
        self._state = _SENDING
        self._reads_before, self._bytes_before = self.connection.reads, self.connection.read_bytes

    def refuse(self, error: OSError) -> None:
        """No connection could even begin to be opened."""
        self.finish("refused", self._now(), _reason(error))

    @property
    def phase(self) -> str:
        """connect, first byte or gap: which timeout is running."""
        if self._state == _CONNECTING:
            return "connect"
        return "gap" if self.reads else "first byte"

    @property
    def sent(self) -> bool:
        """Whether the whole request was handed to the socket."""
        return self._state == _READING

    @property
    def well(self) -> bool:
        """Once it has ended: whether a conversation may go on, answered to its end with 200."""
        return self._reader.complete and self._reader.status == 200

    @property
    def reusable(self) -> bool:
        return self.how == "complete" and self._reader.keep_alive and self._state == _READING

    def ready(self, mask: int) -> int:
        """The connection can be read or written. Returns the stamp of what was read, 0 when nothing was."""
        if self._state == _READING:
            if not self._left_known or mask != READ:
                self._note_left()
            return self._read()
        t_ns = self._read() if mask & ~WRITE and self._state == _SENDING else 0
        if self.how is None:
            self._write()
        return t_ns

    def finish(self, how: str, end_ns: int, reason: str = "") -> None:
        self.how = how
        self.end_ns = end_ns
        self._sink.append(END, self.id, end_ns, f"{how}: {reason}".encode() if reason else how.encode())

    def _write(self) -> None:
        """Go on with connecting and sending, as far as it can be done now."""
        try:
            if self._state == _CONNECTING:
                if not self.connection.ready():
                    self.interest = WRITE if self.connection.wants_write() else READ
                    return
                self.quiet_since_ns = self._now()
                self._sink.append(CONNECTED, self.id, self.quiet_since_ns)
                self._begin()
            if self._state == _SENDING:
                self._send()
        except OSError as error:
            self._broken("refused" if self._state == _CONNECTING else "reset", error)

    def _send(self) -> None:
        self.interest = READ | WRITE
        if self._sent == 0:
            before_ns = self._now()
            self._sent = self.connection.send(memoryview(self._message))
            if self._sent == 0:
                return
            self.quiet_since_ns = before_ns
            self._sink.append(SENT, self.id, before_ns)
        while self._sent < len(self._message):
            taken = self.connection.send(memoryview(self._message)[self._sent :])
            if taken == 0:
                return
            self._sent += taken
        if self.connection.flushed():
            self._state = _READING
            self.interest = READ
            self._left_known = len(self._message) > self.connection.segment_bytes()
            self.unstamped_sends = 1
            self._note_left()

    def _note_left(self) -> None:
        """On loopback the kernel's transmit stamp is there as soon as the send is done, elsewhere a little later."""
        t_ns = self.connection.transmitted_ns()
        if t_ns and not self._left_known:
            self._left_known = True
            self.unstamped_sends = 0
            self._sink.append(LEFT, self.id, t_ns)

    def _read(self) -> int:
        try:
            data, ancillary = self.connection.receive()
        except BlockingIOError:
            return 0
        except OSError as error:
            self.failed(error)
            return 0
        return self.took(data, ancillary)

    def failed(self, error: OSError) -> None:
        """A read gave an error."""
        if not isinstance(error, BlockingIOError):
            self._broken("reset", error)

    def took(self, data: bytes, ancillary: list[Any]) -> int:
        """What a read gave. Returns its stamp, 0 at the end of the stream."""
        if not data:
            self._closed()
            return 0
        connection, reader, turn = self.connection, self._reader, self._turn
        drained = connection.drained
        connection.count(data)
        over = reader.feed(data)
        t_ns = stamp_of(ancillary) if ancillary else 0
        several = not reader.whole or data.count(b"\n\n") > 1  # chunks or events, as far as can be seen here
        if several and t_ns and connection.came_at_once():
            within_ns = 0
        else:
            turn.merged += several
            if not t_ns:
                t_ns = self._now()
                self.unstamped += 1
            within_ns = t_ns - (turn.after_ns(t_ns) if several else turn.since_ns)
            if not drained or not 0 < within_ns < SINCE_THE_LAST:
                within_ns = SINCE_THE_LAST
        self._sink.append(READ_FRAME, self.id, t_ns, data, within_ns)
        self.ordinary = (
            connection.plain and reader.at_edge and connection.drained and self._left_known and self._state == _READING
        )
        if over:
            self.finish("complete" if reader.complete else "eof", t_ns, reader.error or "")
        return t_ns

    @property
    def reads(self) -> int:
        """Of this response, on this connection."""
        return self.connection.reads - self._reads_before if self._state != _CONNECTING else 0

    @property
    def read_bytes(self) -> int:
        return self.connection.read_bytes - self._bytes_before if self._state != _CONNECTING else 0

    def _closed(self) -> None:
        if self._is_stale():
            self.how = STALE
        else:
            self._reader.eof()
            self.finish("eof", self._now())

    def _broken(self, how: str, error: OSError) -> None:
        if self._is_stale():
            self.how = STALE
        else:
            self.finish(how, self._now(), _reason(error))

    def _is_stale(self) -> bool:
        """A server may close a kept connection while our request is on its way; every HTTP client then asks again on a
        new one, once. The clock does not restart, and the run counts it (`reconnects`). A server that breaks on the
        request breaks the second time too, and that is a failure."""
        return self._reused and self.reads == 0


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
