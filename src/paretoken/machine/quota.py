"""How many threads this process may really run: the CPU quota, the affinity, the cores, whichever is least.

Enter: the kernel's small text files. Leaves: a whole number, at least 1. A process inside a container sees all cores of
the host but may use a few; threads beyond the quota make every one of them wait.
"""

import math
import os
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUP = Path("/proc/self/cgroup")


def v2_cores(cpu_max: str) -> float | None:
    """cgroup v2 `cpu.max`: '765000 100000' → 7.65; 'max 100000' → None (no limit)."""
    words = cpu_max.split()
    if not words or words[0] == "max":
        return None
    return _share(words[0], words[1] if len(words) > 1 else "100000")


def v1_cores(quota_us: str, period_us: str) -> float | None:
    """cgroup v1 `cpu.cfs_quota_us` and `cpu.cfs_period_us`; a quota of -1 is no limit."""
    return _share(quota_us, period_us)


def _share(quota: str, period: str) -> float | None:
    try:
        share = int(quota) / int(period)
    except (ValueError, ZeroDivisionError):
        return None  # a file we can't read as a limit sets none
    return share if share > 0 else None


def threads_from(quota_cores: float | None, affinity: int, visible_cores: int) -> int:
    """The floor of the least of the three; 7.65 cores run 7 threads: an eighth would wait for the others' time."""
    least = min(affinity, visible_cores)
    if quota_cores is not None:
        least = min(least, math.floor(quota_cores + 1e-9))
    return max(1, least)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None  # not this kernel, not this cgroup version, or not for us to see


def _ancestors(root: Path, own: str) -> list[Path]:
    """The cgroup's folder and those above it: each of them may limit."""
    folder = root / own.strip("/")
    return [folder, *(parent for parent in folder.parents if parent == root or root in parent.parents)]


def quota_cores(root: Path = CGROUPS, own_cgroup: Path = OWN_CGROUP) -> float | None:
    """The tightest CPU limit of our cgroup and all above it, in cores; None without one (or off Linux)."""
    found: list[float | None] = []
    for line in (_text(own_cgroup) or "").splitlines():
        _, _, place_of = line.partition(":")
        controllers, _, own = place_of.partition(":")
        if controllers == "":
            for base in (root, root / "unified"):
                found += [v2_cores(text) for place in _ancestors(base, own) if (text := _text(place / "cpu.max"))]
        elif "cpu" in controllers.split(","):
            for name in dict.fromkeys((controllers, "cpu", "cpu,cpuacct")):
                for place in _ancestors(root / name, own):
                    quota, period = _text(place / "cpu.cfs_quota_us"), _text(place / "cpu.cfs_period_us")
                    if quota and period:
                        found.append(v1_cores(quota, period))
    return min((cores for cores in found if cores is not None), default=None)


def affinity_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return visible_cores()


def visible_cores() -> int:
    return os.cpu_count() or 1


def cpu_quota() -> int:
    """Threads to run here: what every engine's default follows."""
    return threads_from(quota_cores(), affinity_cores(), visible_cores())
