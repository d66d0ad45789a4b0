"""Energy of the processor packages, as Intel's and AMD's counters (RAPL) tell through /sys/class/powercap.

Leaves: a reading before and one after, and the joules between. It is the whole machine's energy, whoever used it. The
counters wrap around; where one may have wrapped more than once, or may not be read, there is no figure but a reason.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

POWERCAP = Path("/sys/class/powercap")
_MOST_W = 500.0  # of one package, where it does not state its own limit
_UJ = 1e-6


@dataclass(frozen=True, slots=True)
class Counter:
    name: str  # package-0, dram, psys …
    energy_uj: int
    range_uj: int  # it wraps around there
    most_w: float


@dataclass(frozen=True, slots=True)
class EnergyReading:
    at_s: float  # monotonic
    counters: Mapping[str, Counter]  # by zone, such as intel-rapl:0
    why: str | None = None  # why there are none


@dataclass(frozen=True, slots=True)
class Energy:
    """`joules` is the sum over the packages and memory outside them; `zones` has every counter that was read."""

    joules: float | None
    zones: Mapping[str, float]
    why: str | None = None


def read_energy(root: Path | None = None) -> EnergyReading:
    root = POWERCAP if root is None else root
    at_s = time.monotonic()
    zones = sorted(root.glob("*-rapl:*")) if root.is_dir() else []
    if not zones:
        return EnergyReading(at_s, {}, "this machine shows no energy counters (RAPL)")
    counters: dict[str, Counter] = {}
    for zone in zones:
        try:
            counters[zone.name] = Counter(
                (zone / "name").read_text().strip(),
                int((zone / "energy_uj").read_text()),
                int((zone / "max_energy_range_uj").read_text()),
                _most_w(zone),
            )
        except PermissionError:
            return EnergyReading(at_s, {}, f"the energy counters may be read by root only ({zone.name}/energy_uj)")
        except (OSError, ValueError):
            continue  # a zone without a counter, such as one that only limits
    return EnergyReading(at_s, counters, None if counters else "no energy counter of this machine can be read")


def energy_between(before: EnergyReading, after: EnergyReading) -> Energy:
    why = before.why or after.why
    if why is not None:
        return Energy(None, {}, why)
    elapsed_s = after.at_s - before.at_s
    zones: dict[str, float] = {}
    for zone, first in before.counters.items():
        last = after.counters.get(zone)
        if last is None:
            return Energy(None, {}, f"the energy counter {zone} vanished during the run")
        if elapsed_s * first.most_w > first.range_uj * _UJ:
            if _counts(zone, before.counters):
                return Energy(None, {}, f"the energy counter {zone} may have wrapped around more than once")
            continue
        change = last.energy_uj - first.energy_uj
        zones[zone] = (change if change >= 0 else change + first.range_uj) * _UJ
    counted = [joules for zone, joules in zones.items() if _counts(zone, before.counters)]
    named = {f"{zone} ({before.counters[zone].name})": joules for zone, joules in zones.items()}
    return Energy(sum(counted), named) if counted else Energy(None, named, "no package's energy counter can be read")


def _counts(zone: str, counters: Mapping[str, Counter]) -> bool:
    """A package contains its cores; memory is beside it. `psys`, the whole platform, contains them all."""
    name = counters[zone].name
    return name.startswith("package") or name == "dram"


def _most_w(zone: Path) -> float:
    """No zone can use more for long than twice its stated limit."""
    try:
        limit_w = int((zone / "constraint_0_power_limit_uw").read_text()) * _UJ
    except (OSError, ValueError):
        return _MOST_W
    return 2 * limit_w if limit_w > 0 else _MOST_W
