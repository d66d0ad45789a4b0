"""What NVIDIA's cards say of themselves (NVML): power, use, memory, energy. Only where the driver's library is there.

Leaves: a reading of every card, or why there is none. *Untested* on a real card: the calls are those of NVIDIA's
documentation, and are tested against a library that answers as it says. Called before and after a run, never during it.
"""

import contextlib
import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LIBRARY = "libnvidia-ml.so.1"
_NAME_BYTES = 96


@dataclass(frozen=True, slots=True)
class Card:
    """None: this card does not tell."""

    name: str
    power_w: float | None
    busy_share: float | None  # of the last sampling period, up to a second
    memory_used_bytes: int | None
    memory_total_bytes: int | None
    energy_j: float | None  # since the driver was loaded


@dataclass(frozen=True, slots=True)
class Cards:
    cards: tuple[Card, ...]
    why: str | None = None  # why there are none


class _Utilisation(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


def read_cards(load: Callable[[str], Any] = ctypes.CDLL) -> Cards:
    try:
        library = load(LIBRARY)
    except OSError:
        return Cards((), "no NVIDIA driver is here")
    try:
        if library.nvmlInit_v2() != 0:
            return Cards((), "the NVIDIA driver does not answer")
        try:
            count = ctypes.c_uint()
            if library.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
                return Cards((), "the NVIDIA driver does not say how many cards there are")
            cards = tuple(card for index in range(count.value) if (card := _card(library, index)) is not None)
        finally:
            library.nvmlShutdown()
    except AttributeError as error:  # a library that lacks one of the functions
        return Cards((), f"the NVIDIA driver is too old ({error})")
    return Cards(cards, None if cards else "the NVIDIA driver shows no card")


def _card(library: Any, index: int) -> Card | None:
    handle = ctypes.c_void_p()
    if library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) != 0:
        return None
    name = ctypes.create_string_buffer(_NAME_BYTES)
    named = library.nvmlDeviceGetName(handle, name, _NAME_BYTES) == 0
    power = _asked(library, "nvmlDeviceGetPowerUsage", handle, ctypes.c_uint())
    energy = _asked(library, "nvmlDeviceGetTotalEnergyConsumption", handle, ctypes.c_ulonglong())
    used = _asked(library, "nvmlDeviceGetUtilizationRates", handle, _Utilisation())
    memory = _asked(library, "nvmlDeviceGetMemoryInfo", handle, _Memory())
    return Card(
        name.value.decode(errors="replace") if named else f"card {index}",
        None if power is None else power.value / 1000,
        None if used is None else used.gpu / 100,
        None if memory is None else int(memory.used),
        None if memory is None else int(memory.total),
        None if energy is None else energy.value / 1000,
    )


def _asked(library: Any, function: str, handle: ctypes.c_void_p, into: Any) -> Any:
    """The filled structure; None where the card, or an older driver, does not know."""
    with contextlib.suppress(AttributeError):
        if getattr(library, function)(handle, ctypes.byref(into)) == 0:
            return into
    return None
