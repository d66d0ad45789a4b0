"""One request on its connection: connect, send, read to the end of the response, and stamp each step.

In: the request's bytes, a connection, the sink of frames. Out: frames, and `how` it ended. Only HTTP framing is read,
to know where the response ends; what the server says is never looked at. It does not wait and opens nothing: the loop
calls it when its connection can be read or written.
"""

from collections.abc import Callable
from typing import Protocol

from paretoken.load.poller import READ, WRITE
from paretoken.load.sockets import Connection
from paretoken.records.capture import CONNECTED, END, SENT, STARTED
from paretoken.records.capture import READ as READ_FRAME
from paretoken.wire.http1 import ResponseReader

STALE = "stale"  # the server closed a kept connection and answered nothing on it: try another one

_CONNECTING, _SENDING, _READING = range(3)


class Sink(Protocol):
    """Where frames go: records.capture.CaptureWriter, or a list."""

    def append(self, kind: int, request_id: int, t_ns: int, data: bytes = b"") -> None: ...


class Exchange:
    __slots__ = (
        "_message",
        "_now",
        "_reader",
        "_reused",
        "_sent",
        "_sink",
        "_state",
        "connection",
        "end_ns",
        "heard_ns",
        "how",
        "id",
        "interest",
        "line",
        "position",
        "quiet_since_ns",
        "read_bytes",
        "reads",
        "started_ns",
        "unstamped",
    )

    connection: Connection  # from `take` on

    def __init__(
        self, position: int, line: int, request_id: int, message: bytes, sink: Sink, now: Callable[[], int]
    ) -> None:
        """`line`: which of the run's endpoints it goes to."""
        self.position = position
        self.line = line
        self.id = request_id
        self._message = message
        self._sink = sink
        self._now = now
        self._reader = ResponseReader(keep_body=False)
        self._state = _CONNECTING
        self.interest = WRITE  # what it waits for
        self._reused = False
        self._sent = 0
        self.started_ns = 0
        self.end_ns = 0
        self.how: str | None = None
        self.reads = 0
        self.unstamped = 0  # reads without a stamp of the kernel's
        self.read_bytes = 0
        self.heard_ns = 0  # stamp of the last read since the loop last looked; 0: nothing came
        self.quiet_since_ns = 0

    def start(self, started_ns: int) -> None:
        self.started_ns = self.quiet_since_ns = started_ns
        self._sink.append(STARTED, self.id, started_ns)

    def take(self, connection: Connection, *, reused: bool) -> None:
        """Take a connection, which stands already (reused) or is being opened, and go as far as it lets."""
        self.connection = connection
        self._reused = reused
        self._sent = 0
        self._state = _SENDING if reused else _CONNECTING
        self._write()

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
    def well(self) -> bool:
        """Once it has ended: whether a conversation may go on, answered to its end with 200."""
        return self._reader.complete and self._reader.status == 200

    @property
    def reusable(self) -> bool:
        return self.how == "complete" and self._reader.keep_alive and self._state == _READING

    def ready(self, mask: int) -> int:
        """The connection can be read or written. Returns the stamp of what was read, 0 when nothing was."""
        if self._state == _READING:
            return self._read()
        t_ns = self._read() if mask & READ and self._state == _SENDING else 0
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
                self._state = _SENDING
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

    def _read(self) -> int:
        try:
            data, t_ns = self.connection.receive()
        except BlockingIOError:
            return 0
        except OSError as error:
            self._broken("reset", error)
            return 0
        if not data:
            self._closed()
            return 0
        if not t_ns:
            t_ns = self._now()
            self.unstamped += 1
        self._sink.append(READ_FRAME, self.id, t_ns, data)
        self.reads += 1
        self.read_bytes += len(data)
        self.heard_ns = t_ns
        reader = self._reader
        reader.feed(data)
        if reader.complete:
            self.finish("complete", t_ns)
        elif reader.error is not None:
            self.finish("eof", t_ns, reader.error)
        return t_ns

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
