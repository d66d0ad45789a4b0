"""One stream watched live: the body as it comes, and the same Record as a run would give."""

import socket

import pytest

from paretoken.errors import EndpointError
from paretoken.load.one import stream_one
from paretoken.wire import protocol_named
from tests.load.driving import closed_port, schedule
from tests.load.server import Server, streaming


def test_the_body_comes_as_it_arrives_and_the_record_says_the_same() -> None:
    heard: list[tuple[float, bytes]] = []
    with Server(streaming(tokens=4, gap_s=0.02)) as server:
        record, facts = stream_one(schedule(server.port, requests=1), lambda at_s, body: heard.append((at_s, body)))
    reader = protocol_named("openai-chat-sse").reader()
    chunk_at = [at_s for at_s, body in heard for piece in reader.feed(body) if piece.is_chunk]
    assert record.outcome == "ok"
    assert record.reply.text == "w0 w1 w2 w3 "
    assert record.sent_at is not None and record.started_at is not None
    assert [at - record.sent_at for at in record.reply.chunk_at] == pytest.approx(chunk_at)
    assert len(set(chunk_at)) == 4
    assert facts.reads >= 4


def test_a_failure_is_in_the_record() -> None:
    record, _ = stream_one(schedule(closed_port(), requests=1), lambda at_s, body: None)
    assert record.reply.error == "refused"


def test_an_interrupt_goes_up_and_closes_the_connection() -> None:
    def press(at_s: float, body: bytes) -> None:
        raise KeyboardInterrupt

    with Server(streaming(tokens=4, gap_s=0.02)) as server, pytest.raises(KeyboardInterrupt):
        stream_one(schedule(server.port, requests=1), press)


def test_it_is_for_one_request() -> None:
    with pytest.raises(ValueError, match="one request"):
        stream_one(schedule(1, requests=2), lambda at_s, body: None)


def test_a_name_that_is_not_known_is_an_error_of_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(EndpointError, match="not known"):
        stream_one(schedule(1, requests=1), lambda at_s, body: None)
