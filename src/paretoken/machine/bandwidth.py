"""How fast this machine reads memory: the limit that a decode step can't beat.

Method: numpy's xor over an array of 64-bit words much larger than the last cache, the same operation as the usual read
loop in C, on one thread or on several (the reduction runs outside the interpreter's lock). The best pass counts: other
work can only slow a pass down. Leaves GB/s (10⁹ bytes).
"""

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BUFFER_BYTES = 512 * 2**20
SMALLEST_BUFFER_BYTES = 64 * 2**20
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def cache_bytes(text: str) -> int:
    """'32768K' → 33554432."""
    text = text.strip()
    factor = {"K": 2**10, "M": 2**20, "G": 2**30}.get(text[-1:], 1)
    return int(text.rstrip("KMG") or 0) * factor


def last_cache_bytes(caches: Path = CACHES) -> int:
    """The largest cache that core 0 sees; 0 when the system does not tell."""
    try:
        return max((cache_bytes(size.read_text()) for size in caches.glob("index*/size")), default=0)
    except (OSError, ValueError):
        return 0


def buffer_bytes(cache: int, free_memory: int | None) -> int:
    """At least eight times the last cache, but never more than a quarter of the free memory."""
    wanted = max(BUFFER_BYTES, 8 * cache)
    if free_memory is not None:
        wanted = min(wanted, free_memory // 4)
    return max(SMALLEST_BUFFER_BYTES, wanted)


def free_memory_from(meminfo: str) -> int | None:
    for line in meminfo.splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _free_memory() -> int | None:
    try:
        return free_memory_from(Path("/proc/meminfo").read_text(encoding="ascii"))
    except OSError:
        return None


def make_parts(threads: int, total_bytes: int) -> list[NDArray[np.int64]]:
    """One array a thread, each written by a thread of its own, so that its pages lie near the core that wrote them."""
    words = total_bytes // 8 // threads
    parts: list[NDArray[np.int64]] = [np.empty(words, dtype=np.int64) for _ in range(threads)]

    def write(part: NDArray[np.int64]) -> None:
        part.fill(0x5555_5555)

    writers = [threading.Thread(target=write, args=(part,)) for part in parts]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    return parts


def read_passes(parts: Sequence[NDArray[np.int64]], budget_s: float, fewest: int = 4) -> list[float]:
    """GB/s of each pass over all parts at once, one thread a part, until the budget is used up.

    Every thread stamps its own begin and end: where all cores read, a thread that only watched would be woken late,
    begin its clock in the middle of a pass and see it as too fast.
    """
    gate = threading.Barrier(len(parts) + 1)
    stop = threading.Event()
    spans = [(0.0, 0.0)] * len(parts)

    def read(number: int) -> None:
        while True:
            gate.wait()  # a pass begins, unless stopped
            if stop.is_set():
                return
            began = time.perf_counter()
            np.bitwise_xor.reduce(parts[number])
            spans[number] = (began, time.perf_counter())
            gate.wait()  # it has ended

    readers = [threading.Thread(target=read, args=(number,), daemon=True) for number in range(len(parts))]
    for reader in readers:
        reader.start()
    total = sum(part.nbytes for part in parts)
    passes: list[float] = []
    until = time.perf_counter() + budget_s
    while len(passes) < fewest or time.perf_counter() < until:
        gate.wait()
        gate.wait()
        passes.append(total / (max(end for _, end in spans) - min(began for began, _ in spans)) / 1e9)
    stop.set()
    gate.wait()
    for reader in readers:
        reader.join()
    return passes


def read_gb_s(threads: int, *, budget_s: float = 0.8, total_bytes: int | None = None) -> float:
    """The best pass on this many threads. `total_bytes` for tests; otherwise eight last caches or 512 MiB."""
    total = buffer_bytes(last_cache_bytes(), _free_memory()) if total_bytes is None else total_bytes
    return max(read_passes(make_parts(threads, total), budget_s))
