"""The loop against a scripted server: what is captured, how requests end, and that every one is accounted for."""

import errno
import itertools
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec
import pytest

from paretoken.load import loop
from paretoken.load.clock import RunClock
from paretoken.load.connect import connector
from paretoken.load.lines import Line, lines_of
from paretoken.load.loop import Loop
from paretoken.load.message import messages
from paretoken.load.one import FrameList
from paretoken.load.progress import PROGRESS_EVERY_S, Progress
from paretoken.load.schedule import ClosedLoop, OpenLoop, Timeouts
from paretoken.load.sockets import Connection
from paretoken.records.capture import CONNECTED, DUE, END, READ, SENT, STARTED
from paretoken.records.read import records_of
from tests.load.driving import closed_port, drive, planned, schedule
from tests.load.server import (
    DONE,
    LAST_CHUNK,
    Server,
    Talk,
    chunk,
    event,
    events,
    head_of,
    streaming,
)


def limits(**changed: float) -> Timeouts:
    return msgspec.structs.replace(Timeouts(connect_s=5.0, first_byte_s=5.0, gap_s=5.0, total_s=10.0), **changed)


def test_a_closed_loop_of_four_streams_answers_all_and_keeps_its_connections() -> None:
    with Server(streaming(tokens=4, gap_s=0.002)) as server:
        driven = drive(schedule(server.port, requests=20, arrivals=ClosedLoop(4)))
    assert driven.outcomes == ["ok"] * 20
    assert {record.reply.output_tokens for record in driven.records} == {4}
    assert driven.facts.peak_in_flight == server.peak_in_flight == 4
    assert driven.facts.connections == server.connections == 4
    assert [record.connection_reused for record in driven.records].count(True) == 16
    assert {talk.body for talk in server.talks} == {f'{{"n":{number}}}'.encode() for number in range(20)}


def test_moments_are_in_order_and_a_slot_is_due_when_the_one_before_it_ended() -> None:
    with Server(streaming(tokens=2)) as server:
        driven = drive(schedule(server.port, requests=3))
    for record in driven.records:
        assert record.started_at is not None and record.sent_at is not None
        assert record.due_at <= record.started_at <= record.sent_at < record.reply.chunk_at[0]
    ended_ns = [frame.t_ns for frame in driven.frames if frame.kind == END]
    due_ns = [frame.t_ns for frame in driven.frames if frame.kind == DUE]
    assert driven.records[0].due_at == 0.0
    assert due_ns[1:] == ended_ns[:-1]
    assert driven.kinds(0)[:4] == [DUE, STARTED, CONNECTED, SENT]
    assert driven.kinds(1)[:3] == [DUE, STARTED, SENT]


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's receive stamps are Linux's")
def test_reads_carry_the_kernels_stamp() -> None:
    with Server(streaming(tokens=5, gap_s=0.005)) as server:
        driven = drive(schedule(server.port, requests=2))
    assert (driven.facts.clock, driven.facts.unstamped_reads) == ("kernel", 0)
    assert driven.facts.reads == sum(frame.kind == READ for frame in driven.frames)
    sent = next(frame.t_ns for frame in driven.frames if frame.kind == SENT)
    stamps = [frame.t_ns for frame in driven.frames if frame.kind == READ]
    assert stamps == sorted(stamps)
    assert sent < stamps[0] < driven.facts.ended_ns


def test_an_open_loop_sends_when_due_however_slow_the_others_are() -> None:
    def answer(talk: Talk) -> None:
        if talk.body == b'{"n":0}':
            talk.wait(0.3)
        streaming()(talk)

    with Server(answer) as server:
        driven = drive(schedule(server.port, requests=5, arrivals=OpenLoop((0.0, 0.02, 0.04, 0.06, 0.08))))
    assert driven.outcomes == ["ok"] * 5
    assert [round(record.due_at, 6) for record in driven.records] == [0.0, 0.02, 0.04, 0.06, 0.08]
    ends = [record.reply.ended_at or 0.0 for record in driven.records]
    assert max(ends[1:]) < ends[0]
    assert all((record.lateness_s or 0.0) >= 0 for record in driven.records)


def test_a_session_goes_on_and_ends_with_a_turn_that_fails() -> None:
    def answer(talk: Talk) -> None:
        if talk.body == b'{"n":0}':
            talk.send(head_of("500 Oops", "application/json", "content-length: 2") + b"{}")
        else:
            streaming()(talk)

    turns = [
        planned(0),
        planned(1, session=0, turn=1),
        planned(2, session=0, turn=2),
        planned(3),
        planned(4, session=3, turn=1),
    ]
    with Server(answer) as server:
        driven = drive(schedule(server.port, requests=tuple(turns)))
    assert driven.outcomes == ["http_status", "cancelled", "cancelled", "ok", "ok"]
    assert [record.outcome for record in driven.records] == ["failed", "cancelled", "cancelled", "ok", "ok"]
    assert "earlier turn" in (driven.records[1].reply.error_message or "")
    assert driven.records[1].started_at is None
    assert driven.records[4].due_at >= (driven.records[3].reply.ended_at or 0.0)


def test_nobody_listens() -> None:
    driven = drive(schedule(closed_port(), requests=3, arrivals=ClosedLoop(2)))
    assert driven.outcomes == ["refused"] * 3
    assert "refused" in (driven.records[0].reply.error_message or "").lower()


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("reset before", "reset"),
        ("closed before", "reset"),
        ("closed after", "truncated"),
        ("reset after", "truncated"),
    ],
)
def test_the_server_ends_the_connection(how: str, expected: str) -> None:
    def answer(talk: Talk) -> None:
        if how.endswith("after"):
            talk.send(head_of() + chunk(event("Cut")))
            talk.wait(0.02)
        (talk.reset if how.startswith("reset") else talk.close)()

    with Server(answer) as server:
        driven = drive(schedule(server.port, requests=2))
    assert driven.outcomes == [expected] * 2
    assert {record.outcome for record in driven.records} == {"failed"}


@pytest.mark.parametrize(
    ("framing", "close"), [("content-length: %d", False), ("", True), ("transfer-encoding: chunked", False)]
)
def test_every_framing_is_read_to_its_end(framing: str, close: bool) -> None:
    body = b"".join(events(3))

    def answer(talk: Talk) -> None:
        if "chunked" in framing:
            talk.send(head_of() + chunk(body[:50]) + chunk(body[50:]) + LAST_CHUNK)
        else:
            talk.send(head_of(framing=framing % len(body) if framing else "") + body)
        if close:
            talk.close()

    with Server(answer) as server:
        driven = drive(schedule(server.port, requests=3))
    assert driven.outcomes == ["ok"] * 3
    assert server.connections == (3 if close else 1)


def test_a_server_that_says_close_is_believed() -> None:
    def answer(talk: Talk) -> None:
        talk.send(head_of(framing="connection: close\r\ntransfer-encoding: chunked"))
        talk.send(chunk(b"".join(events(2))) + LAST_CHUNK)

    with Server(answer) as server:
        driven = drive(schedule(server.port, requests=3))
    assert driven.outcomes == ["ok"] * 3
    assert (server.connections, driven.facts.reconnects) == (3, 0)


def test_a_kept_connection_that_was_closed_is_replaced_and_the_request_sent_once() -> None:
    def answer(talk: Talk) -> None:
        streaming()(talk)
        talk.close()  # without having said so

    # Each request comes after a pause, in which the closed connection is noticed.
    plan = tuple(planned(number, think_s=0.1) for number in range(3))
    with Server(answer) as server:
        driven = drive(schedule(server.port, requests=plan))
    assert driven.outcomes == ["ok"] * 3
    assert len(server.talks) == server.connections == 3
    assert driven.facts.reconnects == 0


@pytest.mark.parametrize("how", ["reset", "close"])
def test_a_request_on_a_kept_connection_that_closes_unheard_is_asked_again_once(how: str) -> None:
    def answer(talk: Talk) -> None:
        if talk.number == 1:  # on the kept connection: seen, and not a byte said
            (talk.reset if how == "reset" else talk.close)()
        else:
            streaming()(talk)

    with Server(answer) as server:
        driven = drive(schedule(server.port, requests=2))
    assert driven.outcomes == ["ok", "ok"]
    assert [talk.body for talk in server.talks] == [b'{"n":0}', b'{"n":1}', b'{"n":1}']
    assert driven.facts.reconnects == 1
    sends = [driven.first_sent_ns(number) for number in (0, 1)]
    first, second = (record.sent_at for record in driven.records)
    assert first is not None and second is not None
    assert second - first == pytest.approx((sends[1] - sends[0]) / 1e9), "the clock runs from the first send"


def test_a_server_that_breaks_on_the_request_breaks_it_for_good() -> None:
    def answer(talk: Talk) -> None:
        if talk.number == 0:
            streaming()(talk)
        else:
            talk.close()

    with Server(answer) as server:
        driven = drive(schedule(server.port, requests=2))
    assert driven.outcomes == ["ok", "reset"]
    assert len(server.talks) == 3


def test_a_kept_connection_that_takes_nothing_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's reset came between the last look at the connection and the first byte sent on it."""
    plain, sends = Connection.send, itertools.count()

    def send(self: Connection, data: memoryview) -> int:
        if next(sends) == 1:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        return plain(self, data)

    monkeypatch.setattr(Connection, "send", send)
    with Server(streaming()) as server:
        driven = drive(schedule(server.port, requests=2))
    assert driven.outcomes == ["ok", "ok"]
    assert (len(server.talks), driven.facts.reconnects) == (2, 1)
    assert driven.kinds(1) == [DUE, STARTED, CONNECTED, SENT, *[READ] * driven.kinds(1).count(READ), END]
    assert driven.records[1].connection_reused is False


def test_a_response_that_began_is_never_asked_for_again() -> None:
    def answer(talk: Talk) -> None:
        if talk.number == 1:
            talk.send(head_of())
            talk.wait(0.02)
            talk.reset()
        else:
            streaming()(talk)

    with Server(answer) as server:
        driven = drive(schedule(server.port, requests=2))
    assert driven.outcomes == ["ok", "truncated"]
    assert len(server.talks) == 2


def silent(talk: Talk) -> None:
    talk.hang()


def stalling(talk: Talk) -> None:
    talk.send(head_of() + chunk(event()))
    talk.hang()


def endless(talk: Talk) -> None:
    talk.send(head_of())
    while not talk.over:
        talk.send(chunk(event()))
        talk.wait(0.01)


@pytest.mark.parametrize(
    ("answer", "timeouts", "reason"),
    [
        (silent, limits(first_byte_s=0.15), "first byte"),
        (stalling, limits(gap_s=0.15), "gap"),
        (endless, limits(total_s=0.15), "total"),
    ],
)
def test_patience_ends(answer: Callable[[Talk], None], timeouts: Timeouts, reason: str) -> None:
    with Server(answer) as server:
        driven = drive(schedule(server.port, requests=2, arrivals=ClosedLoop(2), timeouts=timeouts))
    assert driven.outcomes == ["timeout"] * 2
    assert {record.reply.error_message for record in driven.records} == {reason}


@pytest.mark.skipif(sys.platform != "linux", reason="a full backlog drops connections silently on Linux only")
def test_a_connection_that_never_stands_times_out() -> None:
    with full_backlog() as port:
        driven = drive(schedule(port, requests=1, timeouts=limits(connect_s=0.15)))
    assert driven.outcomes == ["timeout"]
    assert driven.records[0].reply.error_message == "connect"
    assert driven.records[0].sent_at is None


@contextmanager
def full_backlog() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        port: int = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for connecting in waiting:
            connecting.setblocking(False)
            connecting.connect_ex(("127.0.0.1", port))
        yield port
        for connecting in waiting:
            connecting.close()


def test_an_interrupt_cancels_what_runs_and_accounts_for_what_was_not_sent() -> None:
    reading, writing = socket.socketpair()

    def answer(talk: Talk) -> None:
        streaming()(talk)
        if talk.number == 2:
            writing.send(b"!")
            talk.wait(0.3)

    with reading, writing, Server(answer) as server:
        driven = drive(schedule(server.port, requests=10), interrupts=(reading.fileno(),))
    assert driven.facts.interrupted
    assert driven.outcomes[:3] == ["ok"] * 3
    assert set(driven.outcomes[4:]) == {"cancelled"}
    assert len(driven.outcomes) == 10


def test_without_free_descriptors_a_request_waits_and_is_sent_late() -> None:
    with Server(streaming(tokens=2, gap_s=0.01)) as server:
        plan = schedule(server.port, requests=6, arrivals=ClosedLoop(6))
        plain = connector(plan.endpoint.address, 1.0)
        opened: list[Connection] = []

        def limited() -> Connection:
            if len([connection for connection in opened if connection.sock.fileno() >= 0]) >= 2:
                raise OSError(errno.EMFILE, "Too many open files")
            opened.append(plain())
            return opened[-1]

        clock = RunClock()
        zero_ns = clock.now_ns()
        sink = FrameList()
        facts = Loop(plan, [Line(limited, messages(plan)[0])], sink, clock, zero_ns).run()
    records = records_of(plan.as_json(), sink.frames, plan.protocol)
    assert [record.outcome for record in records] == ["ok"] * 6
    assert facts.peak_in_flight == 2
    assert facts.held > 0


def test_no_descriptor_at_all_is_a_refusal_that_is_recorded() -> None:
    plan = schedule(1, requests=2)

    def nothing() -> Connection:
        raise OSError(errno.EMFILE, "Too many open files")

    clock = RunClock()
    zero_ns = clock.now_ns()
    sink = FrameList()
    Loop(plan, [Line(nothing, messages(plan)[0])], sink, clock, zero_ns).run()
    records = records_of(plan.as_json(), sink.frames, plan.protocol)
    assert [(record.reply.error, record.reply.error_message) for record in records] == [
        ("refused", "Too many open files")
    ] * 2


def test_what_is_not_http_is_a_failure() -> None:
    def answer(talk: Talk) -> None:
        talk.send(b"SSH-2.0-OpenSSH_9.6\r\n")
        talk.hang()

    with Server(answer) as server:
        driven = drive(schedule(server.port, requests=1))
    assert driven.records[0].outcome == "failed"
    assert "not HTTP" in (driven.records[0].reply.error_message or "")


def test_a_large_request_goes_out_in_pieces() -> None:
    body = '{"n":"' + "x" * 8_000_000 + '"}'

    def answer(talk: Talk) -> None:
        streaming()(talk)

    with Server(answer) as server:
        driven = drive(schedule(server.port, requests=(planned(0, body=body), planned(1))))
    assert driven.outcomes == ["ok", "ok"]
    assert server.talks[0].body == body.encode()
    assert server.connections == 1


def test_an_answer_before_the_request_was_read_is_taken_and_the_connection_dropped() -> None:
    """A server may refuse a body that it does not want to read."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
        plan = schedule(port, requests=(planned(0, body="x" * 20_000_000),))
        clock = RunClock()
        zero_ns = clock.now_ns()
        sink = FrameList()
        looping = Loop(plan, lines_of(plan), sink, clock, zero_ns)

        def refuse() -> None:
            connected, _ = listener.accept()
            with connected:
                connected.recv(1000)
                connected.sendall(head_of("413 Too Large", "application/json", "content-length: 2") + b"{}")
                done.wait(5)

        done = threading.Event()
        thread = threading.Thread(target=refuse)
        thread.start()
        looping.run()
        done.set()
        thread.join()
    (record,) = records_of(plan.as_json(), sink.frames, plan.protocol)
    assert (record.reply.error, record.reply.status) == ("http_status", 413)


def test_progress_is_said_when_it_is_time_and_not_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    assert PROGRESS_EVERY_S == 1.0
    monkeypatch.setattr(loop, "PROGRESS_EVERY_S", 0.25)
    said: list[Progress] = []
    with Server(streaming(tokens=6, gap_s=0.1)) as server:
        drive(schedule(server.port, requests=1), on_progress=said.append)
    assert said
    assert all(later.elapsed_s - earlier.elapsed_s >= 0.24 for earlier, later in itertools.pairwise(said))
    assert (said[0].started, said[0].ended, said[0].scheduled, said[0].in_flight) == (1, 0, 1, 1)
    assert said[0].read_bytes > 0


def test_a_done_marker_alone_does_not_end_a_response() -> None:
    """Only the framing does: the server may have more to say, and nothing is read but that."""

    def answer(talk: Talk) -> None:
        talk.send(head_of() + b"".join(chunk(data) for data in events(2)))
        talk.wait(0.05)
        talk.send(chunk(DONE) + LAST_CHUNK)

    with Server(answer) as server:
        driven = drive(schedule(server.port, requests=1))
    assert driven.outcomes == ["ok"]
    assert driven.frames[-1].kind == END
    assert driven.facts.reads >= 2
