"""The rest between warm-up and measured part: nothing measured leaves before the parent has had its say."""

import os
import time
from pathlib import Path

import pytest

from paretoken.load.pace import SLOT_OPENS_NS, Pace
from paretoken.load.rest import WARM, give_word, wait_for_word
from paretoken.load.run import run_load
from paretoken.load.schedule import ClosedLoop, OpenLoop, Planned
from paretoken.units import NS_PER_S
from tests.load.driving import drive, planned, schedule
from tests.load.server import Server, streaming


def requests(warm: int, measured: int) -> tuple[Planned, ...]:
    return tuple(planned(number, warmup=number < warm) for number in range(warm + measured))


def test_a_closed_loop_holds_its_measured_sessions_back() -> None:
    pace = Pace(schedule(1, requests=requests(1, 3), arrivals=ClosedLoop(2), rest_after_warmup=True), 0)
    first = pace.take(SLOT_OPENS_NS)
    assert first is not None and first.position == 0
    assert pace.take(NS_PER_S) is None
    pace.ended(0, 5, well=True)
    assert pace.next_due_ns is None
    pace.release(1_000)
    due = [pace.take(NS_PER_S), pace.take(NS_PER_S)]
    assert [(d.position, d.due_ns) for d in due if d] == [(1, 1_000), (2, 1_000 + SLOT_OPENS_NS)]
    pace.ended(1, 2_000_000, well=True)
    last = pace.take(NS_PER_S)
    assert last is not None and (last.position, last.due_ns) == (3, 2_000_000)


def test_an_open_loop_keeps_its_gaps_from_the_first_measured_arrival_on() -> None:
    arrivals = OpenLoop((0.1, 0.5, 0.8, 2.0))
    plan = schedule(1, requests=requests(1, 3), arrivals=arrivals, rest_after_warmup=True, duration_s=1.0)
    pace = Pace(plan, 0)
    assert pace.next_due_ns == NS_PER_S // 10
    pace.take(NS_PER_S)
    pace.ended(0, NS_PER_S, well=True)
    pace.release(10 * NS_PER_S)
    assert pace.stop_ns == 11 * NS_PER_S
    due = [pace.take(20 * NS_PER_S), pace.take(20 * NS_PER_S), pace.take(20 * NS_PER_S)]
    assert [d and d.due_ns for d in due] == [10 * NS_PER_S, 10 * NS_PER_S + 300_000_000, None]  # the third is too late


@pytest.mark.parametrize("all_turns", [True, False])
def test_what_is_held_is_accounted_for_when_the_run_is_cut_off(all_turns: bool) -> None:
    plan = schedule(
        1,
        requests=requests(1, 2),
        arrivals=OpenLoop((0.0, 0.1, 0.2)),
        rest_after_warmup=True,
        duration_s=None if all_turns else 1.0,
    )
    pace = Pace(plan, 0)
    pace.take(0)
    assert pace.left(all_turns=all_turns) == [1, 2]
    assert not pace.holds and pace.next_due_ns is None


def test_the_parent_speaks_between_warm_up_and_the_first_measured_request(tmp_path: Path) -> None:
    heard: list[int] = []
    with Server(streaming()) as server:
        plan = schedule(server.port, requests=requests(2, 5), arrivals=ClosedLoop(2), rest_after_warmup=True)
        result = run_load(
            plan,
            tmp_path / "run",
            on_opening=lambda: heard.append(len(server.talks)),
            on_closing=lambda: heard.append(len(server.talks)),
        )
        connections = server.connections
    assert heard == [2, 7]
    assert result.count["ok"] == 7
    assert sum(record.warmup for record in result.records) == 2
    assert connections == 2  # the rest keeps them
    assert result.facts["rest"]["told"] is True
    warm = [r.reply.ended_at for r in result.records if r.warmup and r.reply.ended_at is not None]
    measured = [r.sent_at for r in result.records if not r.warmup and r.sent_at is not None]
    assert max(warm) < min(measured)
    late = [r.lateness_s for r in result.records if r.lateness_s is not None]
    assert max(late) < 1.0  # the pause is nobody's lateness


def test_without_a_rest_both_ends_are_the_run_s(tmp_path: Path) -> None:
    heard: list[int] = []
    with Server(streaming()) as server:
        run_load(
            schedule(server.port, requests=requests(1, 2)),
            tmp_path / "run",
            on_opening=lambda: heard.append(len(server.talks)),
            on_closing=lambda: heard.append(len(server.talks)),
        )
    assert heard == [0, 3]


def _pipes() -> tuple[int, int, int, int]:
    return (*os.pipe(), *os.pipe())


def test_the_child_goes_on_at_the_parent_s_byte() -> None:
    child_in, parent_out, parent_in, child_out = _pipes()
    never, keep = os.pipe()
    with os.fdopen(parent_out, "wb") as pipe:
        give_word(pipe, time.monotonic())
        found = wait_for_word(child_in, never, child_out, 0.5)
    assert found is not None and found.told and found.cpu_s == 0.5
    assert os.read(parent_in, 100) == WARM
    for descriptor in (child_in, parent_in, child_out, never, keep):
        os.close(descriptor)


def test_the_end_of_the_pipe_still_means_that_the_parent_is_gone() -> None:
    child_in, parent_out, parent_in, child_out = _pipes()
    never, keep = os.pipe()
    os.close(parent_out)
    assert wait_for_word(child_in, never, child_out, 0.0) is None
    for descriptor in (child_in, parent_in, child_out, never, keep):
        os.close(descriptor)


def test_a_parent_that_is_slow_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paretoken.load.rest.CHILD_WAITS_S", 0.01)
    child_in, parent_out, parent_in, child_out = _pipes()
    never, keep = os.pipe()
    found = wait_for_word(child_in, never, child_out, 0.0)
    assert found is not None and not found.told
    monkeypatch.setattr("paretoken.load.rest.PARENT_TAKES_S", 0.01)
    with os.fdopen(parent_out, "wb") as pipe:
        give_word(pipe, time.monotonic() - 1.0)
        os.set_blocking(child_in, False)
        with pytest.raises(BlockingIOError):
            os.read(child_in, 1)  # a late byte would end the run
    for descriptor in (child_in, parent_in, child_out, never, keep):
        os.close(descriptor)


def test_a_run_that_is_ended_at_its_rest_accounts_for_everything() -> None:
    with Server(streaming()) as server:
        plan = schedule(server.port, requests=requests(2, 3), arrivals=ClosedLoop(1), rest_after_warmup=True)
        driven = drive(plan, on_rest=lambda: False)
        assert len(server.talks) == 2
    assert driven.outcomes == ["ok", "ok", "cancelled", "cancelled", "cancelled"]
    assert driven.facts.interrupted


def test_a_warm_up_that_fails_is_over_too() -> None:
    with Server(lambda talk: talk.reset() if talk.number < 2 else streaming()(talk)) as server:
        plan = schedule(server.port, requests=requests(2, 3), arrivals=ClosedLoop(2), rest_after_warmup=True)
        driven = drive(plan)
    assert driven.outcomes[2:] == ["ok", "ok", "ok"]
    assert set(driven.outcomes[:2]) <= {"reset", "truncated"}
