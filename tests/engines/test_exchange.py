"""A check has one deadline, a bounded body, and no trust in what answers."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from paretoken.engines.base import Listen
from paretoken.engines.endpoint import attach, served_model
from paretoken.engines.exchange import exchange
from paretoken.engines.readiness import ask_one_token, chat_body
from paretoken.errors import EndpointError, ParetokenError, UsageError


@contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that treats one connection as told."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)

        def serve() -> None:
            with suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1 << 16)
                    answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.close()
            thread.join()


def whole(body: bytes, status: str = "200 OK", kind: str = "application/json") -> Callable[[socket.socket], None]:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return lambda connection: connection.sendall(head.encode("latin-1") + body)


@pytest.mark.parametrize("key", ["sk-x\r", "sk\nX: y", "sk-\u20ac", "sk-\udcff", "sk\x7f"])
def test_a_key_that_no_header_carries_is_not_repeated(key: str) -> None:
    for refused in (
        lambda: exchange("http://127.0.0.1:9", None, timeout_s=1, api_key=key),
        lambda: attach("http://127.0.0.1:9", api_key=key),
        lambda: Listen(api_key=key),
    ):
        with pytest.raises(UsageError, match="API key holds") as caught:
            refused()
        assert key not in str(caught.value) and "sk" not in str(caught.value)


def test_dripping_bytes_do_not_move_the_deadline() -> None:
    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        for _ in range(100):
            connection.sendall(b"x")
            time.sleep(0.02)

    with answering(drip) as url, pytest.raises(TimeoutError):
        exchange(url, None, timeout_s=0.3)


def test_a_body_without_end_is_cut() -> None:
    def pour(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while True:
            connection.sendall(b"x" * 65536)

    with answering(pour) as url:
        status, kind, body = exchange(url, None, timeout_s=10)
    assert (status, kind) == (200, "text/html")
    assert 0 < len(body) <= 1 << 20


@pytest.mark.parametrize("banner", [b"SSH-2.0-OpenSSH_9\r\n", b"\x15\x03\x01\x00\x02\x02\x46"])
def test_what_is_not_http_is_not_asked_again(banner: bytes) -> None:
    """The listener takes one connection only: a second question would hang until its time is up."""
    with (
        answering(lambda connection: connection.sendall(banner)) as url,
        pytest.raises(EndpointError, match="not HTTP"),
    ):
        attach(url, model="m", timeout_s=30)


@pytest.mark.parametrize(
    ("status", "state"), [("408 X", "loading"), ("429 X", "loading"), ("503 X", "loading"), ("400 X", "wrong")]
)
def test_which_status_is_asked_again(status: str, state: str) -> None:
    with answering(whole(b"{}", status)) as url:
        assert ask_one_token(url, chat_body("m"), 5).state == state


def test_a_closed_connection_may_be_a_start() -> None:
    with answering(lambda connection: None) as url:
        assert ask_one_token(url, chat_body("m"), 5).state == "loading"


DEEP = b'{"data":' + b"[" * 100_000


def test_deep_json_is_no_model_list() -> None:
    with answering(whole(DEEP)) as url, pytest.raises(EndpointError, match="lists no models"):
        served_model(url)
    with answering(whole(DEEP)) as url:
        assert ask_one_token(url, chat_body("m"), 5).state == "wrong"


HOSTILE = "\x1b]0;owned\x07\nline " + "x" * 5000


@pytest.mark.parametrize(
    "answer",
    [
        whole(b"{}", kind="text/\x9b31m"),
        whole(HOSTILE.encode(), "500 X"),
        whole(HOSTILE.encode(), "400 X"),
        whole(b'{"data": [{"id": "\\u001b[31m' + b"x" * 5000 + b'"}, {"id": "b"}]}'),
        lambda connection: connection.sendall(b"\x1b[31m" + b"x" * 5000),
    ],
)
def test_no_escape_of_a_server_in_a_sentence(answer: Callable[[socket.socket], None]) -> None:
    for ask in (lambda url: served_model(url), lambda url: attach(url, model="m", timeout_s=0.5)):
        with answering(answer) as url, pytest.raises(ParetokenError) as caught:
            ask(url)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 500
