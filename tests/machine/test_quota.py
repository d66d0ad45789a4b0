"""Threads from the kernel's texts, by table."""

from pathlib import Path

import pytest

from paretoken.machine.quota import cpu_quota, quota_cores, threads_from, v1_cores, v2_cores, visible_cores


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        ("765000 100000", 7.65),
        ("max 100000", None),
        ("50000 100000\n", 0.5),
        ("200000", 2.0),
        ("", None),
        ("nonsense here", None),
        ("100000 0", None),
    ],
)
def test_cgroup_v2(text: str, cores: float | None) -> None:
    assert v2_cores(text) == cores


@pytest.mark.parametrize(("quota", "period", "cores"), [("-1", "100000", None), ("250000\n", "100000\n", 2.5)])
def test_cgroup_v1(quota: str, period: str, cores: float | None) -> None:
    assert v1_cores(quota, period) == cores


@pytest.mark.parametrize(
    ("quota", "affinity", "visible", "threads"),
    [(7.65, 96, 96, 7), (0.5, 4, 4, 1), (None, 4, 8, 4), (None, 8, 2, 2), (3.0, 8, 8, 3), (16.0, 4, 8, 4)],
)
def test_the_least_of_quota_affinity_and_cores(quota: float | None, affinity: int, visible: int, threads: int) -> None:
    assert threads_from(quota, affinity, visible) == threads


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_tightest_of_our_cgroup_and_those_above(tmp_path: Path) -> None:
    root = tmp_path / "cgroup"
    write(root / "a" / "cpu.max", "300000 100000")
    write(root / "a" / "b" / "cpu.max", "max 100000")
    write(tmp_path / "own", "0::/a/b\n")
    assert quota_cores(root, tmp_path / "own") == 3.0


def test_cgroup_v1_beside_a_controller_of_another_name(tmp_path: Path) -> None:
    root = tmp_path / "cgroup"
    write(root / "cpu,cpuacct" / "job" / "cpu.cfs_quota_us", "150000")
    write(root / "cpu,cpuacct" / "job" / "cpu.cfs_period_us", "100000")
    write(tmp_path / "own", "12:cpuset:/\n3:cpu,cpuacct:/job\n0::/\n")
    assert quota_cores(root, tmp_path / "own") == 1.5


def test_a_container_does_not_see_its_own_path(tmp_path: Path) -> None:
    """/proc/self/cgroup names the host's path, but the container's root is mounted where the host's was."""
    root = tmp_path / "cgroup"
    write(root / "cpu.max", "200000 100000")
    write(tmp_path / "own", "0::/docker/0123\n")
    assert quota_cores(root, tmp_path / "own") == 2.0


def test_no_cgroups_no_limit(tmp_path: Path) -> None:
    assert quota_cores(tmp_path, tmp_path / "own") is None


def test_here() -> None:
    assert 1 <= cpu_quota() <= visible_cores()
