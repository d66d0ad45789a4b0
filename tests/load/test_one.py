"""One stream watched live: the body as it comes, and the same Record as a run would give."""

import socket

import pytest

from paretoken.errors import EndpointError
from paretoken.load import one
from paretoken.load.one import EnoughHeard, stream_one
from paretoken.wire import protocol_named
from tests.load.driving import closed_port, schedule
from tests.load.server import Server, Talk, chunk, event, head_of, streaming


def test_the_body_comes_as_it_arrives_and_the_record_says_the_same() -> None:
    heard: list[tuple[float, bytes]] = []
    with Server(streaming(tokens=4, gap_s=0.02)) as server:
        watched = stream_one(schedule(server.port, requests=1), lambda at_s, body: heard.append((at_s, body)))
    record, facts = watched.record, watched.facts
    reader = protocol_named("openai-chat-sse").reader()
    chunk_at = [at_s for at_s, body in heard for piece in reader.feed(body) if piece.is_chunk]
    assert record.outcome == "ok"
    assert record.reply.text == "w0 w1 w2 w3 "
    assert record.sent_at is not None and record.started_at is not None
    assert [at - record.sent_at for at in record.reply.chunk_at] == pytest.approx(chunk_at)
    assert len(set(chunk_at)) == 4
    assert facts is not None and facts.reads >= 4


def test_a_failure_is_in_the_record() -> None:
    watched = stream_one(schedule(closed_port(), requests=1), lambda at_s, body: None)
    assert watched.record.reply.error == "refused"


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


def endless(talk: Talk) -> None:
    """It stops only when the connection is closed by the other side."""
    talk.send(head_of())
    while not talk.over:
        talk.send(chunk(event("word", "stop")))


def test_who_has_heard_enough_closes_the_connection_and_gets_a_failed_record() -> None:
    def heard(at_s: float, body: bytes) -> None:
        raise EnoughHeard("that will do")

    with Server(endless) as server:
        watched = stream_one(schedule(server.port, requests=1), heard)
    assert watched.facts is None
    assert watched.record.outcome == "failed"
    assert (watched.record.reply.error, watched.record.reply.error_message) == ("stream_error", "that will do")
    assert watched.record.reply.n_chunks >= 1


def test_what_is_kept_of_an_answer_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one, "CAPTURE_LIMIT", 100_000)
    with Server(endless) as server:
        watched = stream_one(schedule(server.port, requests=1), lambda at_s, body: None)
    assert "went on beyond 100.0 kB" in (watched.record.reply.error_message or "")


def test_where_a_server_moved_to_is_told() -> None:
    moved = head_of("301 Moved Permanently", framing="location: http://other/\r\ncontent-length: 0")
    with Server(lambda talk: talk.send(moved)) as server:
        watched = stream_one(schedule(server.port, requests=1), lambda at_s, body: None)
    assert watched.location == "http://other/"
    assert watched.record.reply.status == 301
