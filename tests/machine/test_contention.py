"""What lies between two snapshots."""

import pytest

from paretoken.machine.contention import CpuTicks, Snapshot, between, snapshot, ticks_from

STAT = "cpu  100 20 30 400 50 6 4 10 7 0\ncpu0 1 2 3 4 5 6 7 8 9 0\nintr 1\n"


def test_ticks() -> None:
    assert ticks_from(STAT, 100) == CpuTicks(busy_s=1.6, idle_s=4.5, stolen_s=0.1)
    assert ticks_from("", 100) is None
    assert ticks_from("cpu 1 2 3\n", 100) is None


def test_between() -> None:
    before = Snapshot(10.0, 0.5, CpuTicks(100.0, 200.0, 1.0))
    after = Snapshot(20.0, 2.5, CpuTicks(115.0, 204.0, 2.0))
    found = between(before, after)
    assert found.load_average == 2.5
    assert found.busy_cores == 1.5
    assert found.steal_share == pytest.approx(0.05)
    assert found.as_json()["elapsed_ms"] == 10_000


def test_what_the_system_does_not_tell_is_none() -> None:
    found = between(Snapshot(0.0, None, None), Snapshot(1.0, None, None))
    assert (found.load_average, found.steal_share, found.busy_cores) == (None, None, None)
    same = Snapshot(1.0, 0.1, CpuTicks(1, 1, 0))
    assert between(same, same).steal_share is None


def test_here() -> None:
    found = between(snapshot(), snapshot())
    assert found.elapsed_s >= 0
