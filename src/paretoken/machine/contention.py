"""Who else is using this machine: load average, stolen time, busy cores.

Leaves: a snapshot before and one after a run, and what lies between. A value that the system does not tell is None.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STAT = Path("/proc/stat")


@dataclass(frozen=True, slots=True)
class CpuTicks:
    """Seconds of all cores together since boot."""

    busy_s: float
    idle_s: float
    stolen_s: float  # the hypervisor gave our core to somebody else


@dataclass(frozen=True, slots=True)
class Snapshot:
    at_s: float  # monotonic
    load_average: float | None  # over the last minute
    cpu: CpuTicks | None


@dataclass(frozen=True, slots=True)
class Contention:
    """Between two snapshots. `busy_cores`: cores in use on average, by us and by others."""

    elapsed_s: float
    load_average: float | None  # the larger of both ends
    steal_share: float | None
    busy_cores: float | None

    def as_json(self) -> dict[str, Any]:
        return {
            "elapsed_ms": round(self.elapsed_s * 1000, 3),
            "load_average": self.load_average,
            "steal_share": self.steal_share,
            "busy_cores": self.busy_cores,
        }


def ticks_from(stat: str, ticks_per_s: int) -> CpuTicks | None:
    """The first line of /proc/stat: user nice system idle iowait irq softirq steal guest guest_nice, in ticks. Guest
    time is already in user time."""
    words = stat.partition("\n")[0].split()
    if len(words) < 9 or words[0] != "cpu":
        return None
    user, nice, system, idle, iowait, irq, softirq, steal = (int(word) / ticks_per_s for word in words[1:9])
    return CpuTicks(user + nice + system + irq + softirq, idle + iowait, steal)


def snapshot() -> Snapshot:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    try:
        cpu = ticks_from(STAT.read_text(encoding="ascii"), os.sysconf("SC_CLK_TCK"))
    except OSError:
        cpu = None  # not Linux
    return Snapshot(time.monotonic(), load, cpu)


def between(before: Snapshot, after: Snapshot) -> Contention:
    elapsed = after.at_s - before.at_s
    loads = [snap.load_average for snap in (before, after) if snap.load_average is not None]
    steal = busy = None
    if before.cpu is not None and after.cpu is not None and elapsed > 0:
        busy_s = after.cpu.busy_s - before.cpu.busy_s
        stolen_s = after.cpu.stolen_s - before.cpu.stolen_s
        total_s = busy_s + stolen_s + after.cpu.idle_s - before.cpu.idle_s
        # The kernel's counters may step back by a tick.
        steal = max(0.0, stolen_s / total_s) if total_s > 0 else None
        busy = max(0.0, busy_s / elapsed)
    return Contention(elapsed, max(loads, default=None), steal, busy)
