"""What single processes use: CPU time and memory, as /proc tells. None where it does not tell."""

import os
from pathlib import Path

_PROC = Path("/proc")


def cpu_seconds(pid: int | None) -> float | None:
    """CPU time that a process has used so far, all its threads."""
    if pid is None:
        return None
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_bytes(pid: int | None) -> int | None:
    """Proportional set size of one process: pages that several share count in parts."""
    return _kib_line(pid, "smaps_rollup", "Pss:")


def peak_memory_bytes(pid: int | None) -> int | None:
    """The largest resident set since the process began, or since `forget_peak`."""
    return _kib_line(pid, "status", "VmHWM:")


def forget_peak(pid: int | None) -> bool:
    """Let the peak count from now on; False where the kernel does not let us."""
    if pid is None:
        return False
    try:
        (_PROC / str(pid) / "clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _kib_line(pid: int | None, file: str, label: str) -> int | None:
    if pid is None:
        return None
    try:
        text = (_PROC / str(pid) / file).read_text()
    except OSError:
        return None
    kib = next((line.split()[1] for line in text.splitlines() if line.startswith(label)), None)
    return None if kib is None else int(kib) * 1024
