"""A scripted HTTP server for these tests: one thread a connection, and a function that answers each request.

The function gets a Talk: what was asked, and a way to send bytes, to wait, to close or to reset the connection. What it
does not end stays open, so that the next request may come on the same connection. Leaving the `with` ends everything.
"""

import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

import msgspec

EVENT_STREAM = "text/event-stream"


@dataclass
class Talk:
    number: int  # of the request, over all connections, from 0
    connection: int  # its number, from 0
    head: bytes
    body: bytes
    _socket: socket.socket
    _over: threading.Event

    @property
    def path(self) -> str:
        return self.head.split(b" ", 2)[1].decode()

    @property
    def over(self) -> bool:
        return self._over.is_set()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def wait(self, seconds: float) -> None:
        """Do nothing for so long, or until the server is stopped."""
        self._over.wait(seconds)

    def hang(self) -> None:
        self._over.wait()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)

    def reset(self) -> None:
        """End the connection with a RST."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()


Answer = Callable[[Talk], None]


@dataclass
class Server:
    answer: Answer
    talks: list[Talk] = field(default_factory=list)
    connections: int = 0
    in_flight: int = 0
    peak_in_flight: int = 0

    def __post_init__(self) -> None:
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._listener.settimeout(0.02)
        self.port: int = self._listener.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "Server":
        self._begin(self._accept)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._over.set()
        for connected in self._sockets:
            try:
                connected.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it is closed already
        for thread in self._threads:
            thread.join(10)
        self._listener.close()

    def _begin(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                connected, _ = self._listener.accept()
            except TimeoutError:
                continue
            connected.settimeout(None)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sockets.append(connected)
            self._begin(self._serve, connected, self.connections)
            self.connections += 1

    def _serve(self, connected: socket.socket, connection: int) -> None:
        pending = b""
        with connected:
            try:
                while not self._over.is_set():
                    while b"\r\n\r\n" not in pending:
                        received = connected.recv(65536)
                        if not received:
                            return
                        pending += received
                    head, _, pending = pending.partition(b"\r\n\r\n")
                    length = content_length(head)
                    while len(pending) < length:
                        pending += connected.recv(65536)
                    body, pending = pending[:length], pending[length:]
                    self._answer(Talk(0, connection, head, body, connected, self._over))
            except OSError:
                return  # the other side went away, or we reset the connection

    def _answer(self, talk: Talk) -> None:
        with self._lock:
            talk.number = len(self.talks)
            self.talks.append(talk)
            self.in_flight += 1
            self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        try:
            self.answer(talk)
        finally:
            with self._lock:
                self.in_flight -= 1


def content_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


def head_of(
    status: str = "200 OK", content_type: str = EVENT_STREAM, framing: str = "transfer-encoding: chunked"
) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-type: {content_type}", framing]
    return "\r\n".join([line for line in lines if line] + ["", ""]).encode()


def event(text: str = "word", finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return b"data: " + msgspec.json.encode({"choices": [choice]}) + b"\n\n"


def usage(tokens: int) -> bytes:
    return b"data: " + msgspec.json.encode({"choices": [], "usage": {"completion_tokens": tokens}}) + b"\n\n"


DONE = b"data: [DONE]\n\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


def events(tokens: int) -> list[bytes]:
    """A whole answer of `tokens` chunks."""
    words = [event(f"w{i} ", "length" if i == tokens - 1 else None) for i in range(tokens)]
    return [*words, usage(tokens), DONE]


def streaming(tokens: int = 3, gap_s: float = 0.0, before_s: float = 0.0) -> Answer:
    """An answer as a chunked event stream, each event in a chunk of its own."""

    def answer(talk: Talk) -> None:
        talk.wait(before_s)
        talk.send(head_of())
        for data in events(tokens):
            talk.send(chunk(data))
            talk.wait(gap_s)
        talk.send(LAST_CHUNK)

    return answer
