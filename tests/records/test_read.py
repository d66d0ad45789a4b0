"""Schedule and frames → Records: moments, outcomes, and that no request vanishes."""

from dataclasses import replace
from typing import Any

import pytest

from paretoken.core.record import Record
from paretoken.errors import CaptureError
from paretoken.records.capture import CONNECTED, DUE, END, READ, READ_LENGTH, SENT, STARTED, Frame
from paretoken.records.read import read_run, records_of
from tests.records.frames import DONE, HEAD, ZERO_NS, answered, chunked, event, frame, run_frame, schedule

PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\n<p>"
PROTOCOL = "openai-chat-sse"


def one(*frames: Frame, **more: Any) -> Record:
    (record,) = records_of(schedule(1, **more), [run_frame(), *frames], PROTOCOL)
    return record


def ended(how: bytes, *reads: bytes) -> Record:
    """Started at 0, sent at 1, reads at 10, 20, … ms, ended at 95."""
    frames = [frame(READ, 0, 10 * n, data) for n, data in enumerate(reads, start=1)]
    return one(frame(STARTED, 0, 0), frame(SENT, 0, 1), *frames, frame(END, 0, 95, how))


def test_moments_are_exact_seconds_from_the_runs_start() -> None:
    record = one(*answered(0, at_ms=1000))
    assert record.outcome == "ok"
    assert (record.due_at, record.started_at, record.sent_at) == (1.0, 1.00025, 1.0015)
    assert record.reply.chunk_at == (1.02, 1.03)
    assert record.reply.ended_at == 1.04
    assert record.ttft_from_due_s == pytest.approx(0.02, abs=1e-12)
    assert record.lateness_s == pytest.approx(0.00025, abs=1e-12)
    assert record.connect_s == pytest.approx(0.00075, abs=1e-12)
    assert not record.connection_reused
    assert (record.reply.text, record.reply.output_tokens, record.reply.status) == ("Salt lake", 2, 200)
    assert (record.warmup, record.wanted_output_tokens) == (True, 2)
    assert record.reply.warnings == ()


def test_a_body_byte_has_the_moment_of_the_read_that_brought_it() -> None:
    body = chunked(event("a")) + chunked(event("b", finish="stop") + DONE) + b"0\r\n\r\n"
    stream = HEAD + body
    cut = len(HEAD) + len(chunked(event("a"))) - 4  # the last bytes of the first event's blank line come later
    record = ended(b"complete", stream[:cut], stream[cut:])
    assert record.reply.chunk_at == (0.02, 0.02)
    assert "coalesced_reads" in record.reply.warnings


def test_a_connection_that_stood_already_is_reused() -> None:
    frames = [item for item in answered(0) if item.kind != CONNECTED]
    record = one(*frames)
    assert record.connection_reused
    assert record.connect_s is None


@pytest.mark.parametrize(
    ("how", "reads", "outcome", "error", "message"),
    [
        (b"refused: Connection refused", [], "failed", "refused", "Connection refused"),
        (b"reset", [], "failed", "reset", None),
        (b"eof", [], "failed", "reset", None),
        (b"timeout: first byte", [], "failed", "timeout", "first byte"),
        (b"cancelled", [], "cancelled", "cancelled", None),
        (b"eof", [b"HTTP/1.1 20"], "failed", "truncated", None),
        (b"reset", [b"HTTP/1.1 20"], "failed", "truncated", None),
        (b"timeout", [b"HTTP/1.1 20"], "failed", "timeout", None),
        (b"eof", [b"SSH-2.0-x\r\n"], "failed", "not_a_stream", "the answer is not HTTP: Expected HTTP/, RTSP/ or ICE/"),
        (b"eof", [HEAD, chunked(event("a"))], "failed", "truncated", None),
        (b"reset: by peer", [HEAD, chunked(event("a"))], "failed", "truncated", "by peer"),
        (b"timeout", [HEAD, chunked(event("a"))], "failed", "timeout", None),
        (b"cancelled", [HEAD, chunked(event("a"))], "cancelled", "cancelled", None),
        (b"eof", [HEAD, chunked(event("a", finish="stop"))], "ok", None, None),
        (b"reset", [HEAD, chunked(event("a", finish="stop"))], "ok", None, None),
        (b"cancelled", [HEAD, chunked(event("a", finish="stop") + DONE)], "ok", None, None),
        (b"complete", [b"HTTP/1.1 429 No\r\nContent-Length: 4\r\n\r\nslow"], "failed", "throttled", "slow"),
        (b"complete", [b"HTTP/1.1 503 No\r\nContent-Length: 4\r\n\r\nbusy"], "failed", "http_status", "busy"),
        (b"complete", [PAGE], "failed", "not_a_stream", "<p>"),
        (b"complete", [HEAD, b"0\r\n\r\n"], "failed", "truncated", None),
        (b"complete", [HEAD, chunked(event(finish="stop") + DONE) + b"0\r\n\r\n"], "failed", "no_output", None),
    ],
)
def test_outcomes(how: bytes, reads: list[bytes], outcome: str, error: str | None, message: str | None) -> None:
    record = ended(how, *reads)
    assert (record.outcome, record.reply.error, record.reply.error_message) == (outcome, error, message)


def test_broken_framing_keeps_what_came_before_and_says_why() -> None:
    record = ended(b"eof: framing", HEAD, chunked(event("a")), b"zz\r\n")
    assert (record.reply.error, record.reply.text) == ("truncated", "a")
    assert "not HTTP" in (record.reply.error_message or "")


def test_a_head_without_end_is_not_a_stream() -> None:
    record = ended(b"eof", b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000)
    assert record.reply.error == "not_a_stream"
    assert "larger than" in (record.reply.error_message or "")


def test_an_interim_response_is_not_the_answer() -> None:
    record = ended(b"eof", b"HTTP/1.1 100 Continue\r\n\r\n", HEAD, chunked(event("a", finish="stop") + DONE))
    assert (record.outcome, record.reply.status) == ("ok", 200)


def test_a_start_without_an_end_is_lost_whatever_came() -> None:
    frames = answered(0)[:-1]
    record = one(*frames)
    assert (record.outcome, record.reply.error, record.reply.n_chunks) == ("lost", "lost", 2)
    assert one(frame(STARTED, 0, 5)).outcome == "lost"


def test_a_request_without_frames_is_lost_and_has_its_planned_due_moment() -> None:
    arrivals = {"mode": "open", "due_s": [0.25]}
    record = one(arrivals=arrivals)
    assert (record.outcome, record.due_at, record.started_at, record.sent_at) == ("lost", 0.25, None, None)
    assert one().due_at == 0.0


def test_a_cancelled_request_need_not_have_started() -> None:
    record = one(frame(END, 0, 30, b"cancelled"))
    assert (record.outcome, record.started_at, record.lateness_s) == ("cancelled", None, None)


def test_due_moments_go_by_session_and_the_loops_own_word_wins() -> None:
    plan = schedule(3, arrivals={"mode": "open", "due_s": [0.5, 1.5]})
    plan["requests"][1].update(session=0, turn=1)  # the second turn of the first session
    plan["requests"][2].update(session=9)
    first, second, third = records_of(plan, [run_frame(), frame(DUE, 1, 700)], PROTOCOL)
    assert (first.due_at, second.due_at, third.due_at) == (0.5, 0.7, 1.5)


def test_a_run_of_stated_duration_scheduled_only_what_fell_due_in_it() -> None:
    closed = schedule(3, duration_s=10.0)
    assert [r.request_id for r in records_of(closed, [run_frame(), *answered(1)], PROTOCOL)] == [1]
    opened = schedule(3, duration_s=10.0, arrivals={"mode": "open", "due_s": [1.0, 9.0, 10.0]})
    outcomes = {r.request_id: r.outcome for r in records_of(opened, [run_frame(), *answered(0)], PROTOCOL)}
    assert outcomes == {0: "ok", 1: "lost"}


def test_with_several_attempts_the_clock_runs_from_the_first() -> None:
    again = [frame(STARTED, 0, 5), frame(CONNECTED, 0, 6), frame(SENT, 0, 7)]
    record = one(*answered(0)[:4], *again, *answered(0)[4:])
    assert (record.started_at, record.sent_at) == (0.00025, 0.0015)


def test_what_follows_the_end_is_ignored() -> None:
    record = one(*answered(0), frame(READ, 0, 99, b"HTTP/1.1 500 Late\r\n\r\n"), frame(END, 0, 100, b"reset"))
    assert record.outcome == "ok"


def test_without_a_run_frame_the_first_frame_is_zero() -> None:
    reading = read_run(schedule(1), answered(0, at_ms=500), PROTOCOL)
    assert reading.records[0].due_at == 0.0
    assert reading.stamp.zero_ns is None


def test_the_run_frame_may_come_last_and_its_facts_are_handed_on() -> None:
    said = run_frame(ended_ns=ZERO_NS + 2_000_000_000, mono_zero_ns=7, mono_ended_ns=1_000_000_007, gc="off")
    reading = read_run(schedule(1), [*answered(0, at_ms=500), said], PROTOCOL)
    assert reading.records[0].due_at == 0.5
    assert (reading.stamp.clock, reading.stamp.clock_step_s) == ("kernel", 1.0)
    assert reading.stamp.facts["gc"] == "off"


def test_reads_without_their_bytes_are_named() -> None:
    frames = [
        replace(item, kind=READ_LENGTH, data=b"\x09\x00\x00\x00") if item.kind == READ and item.request_id else item
        for item in [*answered(0), *answered(1)]
    ]
    assert read_run(schedule(2), [run_frame(), *frames], PROTOCOL).bytes_missing == {1}


@pytest.mark.parametrize(
    ("plan", "frames"),
    [
        ({}, []),
        ({"requests": 7, "arrivals": {"mode": "closed"}}, []),
        ({"requests": [{"id": "x"}], "arrivals": {"mode": "closed"}}, []),
        (schedule(1), [frame(STARTED, 5, 0)]),
        (schedule(1), [frame(END, 0, 0, b"abducted")]),
        (schedule(1), [run_frame(zero_ns="x")]),
    ],
)
def test_a_capture_that_does_not_fit_its_schedule_gives_one_sentence(plan: dict[str, Any], frames: list[Frame]) -> None:
    with pytest.raises(CaptureError):
        records_of(plan, frames, PROTOCOL)


def test_an_unknown_protocol_gives_one_sentence() -> None:
    with pytest.raises(CaptureError, match="telnet"):
        records_of(schedule(1), [], "telnet")
