"""The read loop reads everything it claims to, on every thread. How fast is not a test."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from paretoken.machine import bandwidth

MIB = 2**20


@pytest.mark.parametrize("threads", [1, 3])
def test_parts_cover_the_buffer_and_are_written(threads: int) -> None:
    parts = bandwidth.make_parts(threads, 3 * MIB)
    assert sum(part.nbytes for part in parts) == 3 * MIB
    assert all((part == 0x5555_5555).all() for part in parts)


@pytest.mark.parametrize("threads", [1, 2])
def test_each_pass_reads_every_part_once(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    class Xor:
        @staticmethod
        def reduce(part: NDArray[np.int64]) -> None:
            read.append(part.nbytes)

    monkeypatch.setattr(np, "bitwise_xor", Xor)
    passes = bandwidth.read_passes(bandwidth.make_parts(threads, MIB), budget_s=0.0, fewest=5)
    assert len(passes) == 5
    assert sum(read) == 5 * MIB


def test_a_small_one_for_real() -> None:
    assert bandwidth.read_gb_s(2, budget_s=0.0, total_bytes=4 * MIB) > 0


@pytest.mark.parametrize(("text", "size"), [("32768K\n", 32 * MIB), ("2M", 2 * MIB), ("512", 512), ("", 0)])
def test_cache_sizes(text: str, size: int) -> None:
    assert bandwidth.cache_bytes(text) == size


def test_the_last_cache(tmp_path: Path) -> None:
    for index, size in enumerate(("32K", "1M", "96M")):
        (tmp_path / f"index{index}").mkdir()
        (tmp_path / f"index{index}" / "size").write_text(size)
    assert bandwidth.last_cache_bytes(tmp_path) == 96 * MIB
    assert bandwidth.last_cache_bytes(tmp_path / "none") == 0


@pytest.mark.parametrize(
    ("cache", "free", "wanted"),
    [
        (32 * MIB, None, 512 * MIB),
        (96 * MIB, None, 768 * MIB),
        (32 * MIB, 1024 * MIB, 256 * MIB),
        (32 * MIB, 100 * MIB, 64 * MIB),
    ],
)
def test_the_buffer_is_far_larger_than_the_cache_but_fits(cache: int, free: int | None, wanted: int) -> None:
    assert bandwidth.buffer_bytes(cache, free) == wanted


def test_free_memory() -> None:
    assert bandwidth.free_memory_from("MemTotal: 9 kB\nMemAvailable:   1024 kB\n") == MIB
    assert bandwidth.free_memory_from("") is None
