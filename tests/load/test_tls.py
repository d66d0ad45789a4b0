"""TLS over our own sockets, against a server with an anonymous cipher: no certificate has to lie here."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from paretoken.load.clock import RunClock
from paretoken.load.connect import connector
from paretoken.load.lines import Line
from paretoken.load.loop import Facts, Loop
from paretoken.load.message import messages
from paretoken.load.one import FrameList
from paretoken.load.schedule import Schedule
from paretoken.records.read import records_of
from paretoken.wire.url import Address
from tests.load.driving import schedule
from tests.load.server import LAST_CHUNK, chunk, events, head_of

ANONYMOUS = "AECDH-AES256-SHA:@SECLEVEL=0"


def context(side: int) -> ssl.SSLContext:
    made = ssl.SSLContext(side)
    if side == ssl.PROTOCOL_TLS_CLIENT:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    made.maximum_version = ssl.TLSVersion.TLSv1_2  # TLS 1.3 has no anonymous ciphers
    try:
        made.set_ciphers(ANONYMOUS)
    except ssl.SSLError:
        pytest.skip("this OpenSSL has no anonymous ciphers")
    return made


@contextmanager
def tls_server(requests: int) -> Iterator[int]:
    """Answers so many requests on one connection, in TLS records that do not fit the events."""
    serving = context(ssl.PROTOCOL_TLS_SERVER)

    def serve() -> None:
        connected, _ = listener.accept()
        with serving.wrap_socket(connected, server_side=True) as secure:
            for _ in range(requests):
                received = b""
                while not received.endswith(b"}"):
                    received += secure.recv(65536)
                answer = head_of() + b"".join(chunk(data) for data in events(3)) + LAST_CHUNK
                for start in range(0, len(answer), 37):
                    secure.sendall(answer[start : start + 37])
                secure.sendall(b"")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield int(listener.getsockname()[1])
        thread.join(10)


def run(plan: Schedule, checked: ssl.SSLContext | None) -> tuple[FrameList, Facts]:
    connect = connector(Address("https", "127.0.0.1", plan.endpoint.port, plan.endpoint.path), 1.0, checked)
    clock = RunClock()
    zero_ns = clock.now_ns()
    sink = FrameList()
    return sink, Loop(plan, [Line(connect, messages(plan)[0])], sink, clock, zero_ns).run()


def test_requests_go_through_tls_on_one_connection() -> None:
    with tls_server(requests=2) as port:
        plan = schedule(port, requests=2)
        sink, facts = run(plan, context(ssl.PROTOCOL_TLS_CLIENT))
    records = records_of(plan.as_json(), sink.frames, plan.protocol)
    assert [record.outcome for record in records] == ["ok", "ok"]
    assert [record.reply.text for record in records] == ["w0 w1 w2 "] * 2
    assert facts.connections == 1
    assert records[0].connect_s is not None and records[0].connect_s > 0


def test_a_server_without_tls_is_refused() -> None:
    def answer_in_plain_text() -> None:
        connected, _ = listener.accept()
        with connected:
            connected.recv(65536)
            connected.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer_in_plain_text)
        thread.start()
        plan = schedule(int(listener.getsockname()[1]), requests=1)
        sink, _ = run(plan, None)
        thread.join(10)
    (record,) = records_of(plan.as_json(), sink.frames, plan.protocol)
    assert record.reply.error == "refused"
    assert record.sent_at is None
