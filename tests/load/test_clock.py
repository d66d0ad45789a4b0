"""The run's clock: it goes on evenly when the real clock is set, and says by how much that was."""

import time

import pytest

from paretoken.load.clock import RunClock


def test_it_reads_as_the_real_clock_does() -> None:
    clock = RunClock()
    before = time.time_ns()
    now = clock.now_ns()
    assert before - 1_000_000 < now < time.time_ns() + 1_000_000
    assert abs(clock.step_ns()) < 1_000_000


def test_a_step_of_the_real_clock_is_seen_and_does_not_move_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = RunClock()
    real = time.time_ns
    before = clock.now_ns()
    monkeypatch.setattr(time, "time_ns", lambda: real() - 3_600_000_000_000)
    assert before <= clock.now_ns() < before + 60_000_000_000
    assert clock.step_ns() == pytest.approx(-3_600_000_000_000, abs=1_000_000)


def test_a_moment_can_be_read_on_the_monotonic_clock() -> None:
    clock = RunClock()
    moment = clock.now_ns()
    assert clock.monotonic_ns(moment) <= time.monotonic_ns()
    assert clock.monotonic_ns(moment + 5) == clock.monotonic_ns(moment) + 5
