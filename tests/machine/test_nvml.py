"""Graphics cards, against a library that answers as NVIDIA's documentation says. No real card was read."""

import ctypes
from typing import Any

from paretoken.machine.nvml import Card, read_cards

_UNKNOWN = 3  # NVML_ERROR_NOT_SUPPORTED


def _into(pointer: Any) -> Any:
    return pointer._obj


class Library:
    """Two cards; the second, an old one, knows no energy."""

    down = False

    def nvmlInit_v2(self) -> int:
        return 0

    def nvmlShutdown(self) -> int:
        self.down = True
        return 0

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:
        _into(count).value = 2
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index: int, handle: Any) -> int:
        _into(handle).value = index + 1
        return 0

    def nvmlDeviceGetName(self, handle: ctypes.c_void_p, name: Any, length: int) -> int:
        name.value = f"Card {handle.value}".encode()
        return 0

    def nvmlDeviceGetPowerUsage(self, handle: ctypes.c_void_p, power: Any) -> int:
        _into(power).value = 250_500
        return 0

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: ctypes.c_void_p, energy: Any) -> int:
        if handle.value == 2:
            return _UNKNOWN
        _into(energy).value = 5_000_000_000
        return 0

    def nvmlDeviceGetUtilizationRates(self, handle: ctypes.c_void_p, rates: Any) -> int:
        _into(rates).gpu = 87
        return 0

    def nvmlDeviceGetMemoryInfo(self, handle: ctypes.c_void_p, memory: Any) -> int:
        _into(memory).used, _into(memory).total = 40 << 30, 80 << 30
        return 0


def test_cards_are_read_in_our_units() -> None:
    library = Library()
    found = read_cards(lambda _: library)
    assert found.why is None and library.down
    assert found.cards[0] == Card("Card 1", 250.5, 0.87, 40 << 30, 80 << 30, 5_000_000.0)
    assert found.cards[1].energy_j is None and found.cards[1].name == "Card 2"


def test_without_a_driver_there_is_a_reason() -> None:
    def absent(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    assert read_cards(absent).why == "no NVIDIA driver is here"


def test_a_driver_that_fails_or_is_too_old_is_a_reason() -> None:
    class Broken(Library):
        def nvmlInit_v2(self) -> int:
            return 9

    assert read_cards(lambda _: Broken()).why == "the NVIDIA driver does not answer"
    assert "too old" in (read_cards(lambda _: object()).why or "")


def test_a_function_that_an_older_driver_lacks_leaves_its_figure_out() -> None:
    class Older(Library):
        nvmlDeviceGetTotalEnergyConsumption = property()

    assert read_cards(lambda _: Older()).cards[0].energy_j is None
