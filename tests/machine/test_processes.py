import os
import sys

import pytest

from paretoken.machine.processes import cpu_seconds, forget_peak, memory_bytes, peak_memory_bytes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


def test_our_own_process_has_used_something() -> None:
    assert (cpu_seconds(os.getpid()) or 0) > 0
    assert (memory_bytes(os.getpid()) or 0) > 1 << 20
    assert (peak_memory_bytes(os.getpid()) or 0) > 1 << 20


def test_of_nobody_nothing_is_known() -> None:
    for pid in (None, 2**22 + 1):
        assert cpu_seconds(pid) is None and memory_bytes(pid) is None and peak_memory_bytes(pid) is None
        assert forget_peak(pid) is False


def test_a_peak_can_be_forgotten() -> None:
    large = bytearray(64 << 20)
    high = peak_memory_bytes(os.getpid()) or 0
    del large
    if not forget_peak(os.getpid()):
        pytest.skip("this kernel does not let us")
    assert (peak_memory_bytes(os.getpid()) or 0) < high
