"""What this machine spent in a run's window: processor time, memory, energy, graphics cards.

Enters something that runs, and is told when the window opens and closes; leaves plain JSON in which everything that is
not known is null and has its reason, never zero. Energy is the whole machine's: nobody can say whose joule it was.
"""

import ipaddress
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paretoken.core.record import Record
from paretoken.engines.base import Running
from paretoken.machine.contention import Snapshot, between, snapshot
from paretoken.machine.nvml import Card, Cards, read_cards
from paretoken.machine.processes import cpu_seconds, forget_peak, memory_bytes, peak_memory_bytes
from paretoken.machine.rapl import EnergyReading, energy_between, read_energy
from paretoken.units import ms
from paretoken.wire.url import parse_url


@dataclass(frozen=True, slots=True)
class _Look:
    at_s: float  # monotonic
    engine_cpu_s: float | None
    memory_bytes: int | None
    peak_bytes: int | None
    machine: Snapshot
    energy: EnergyReading
    cards: Cards


class HostWatch:
    def __init__(self, running: Running) -> None:
        self._pids = [part.pid for part in running.parts]
        self._here = is_here(running)
        self._before: _Look | None = None
        self._after: _Look | None = None
        self._peak_of_window = False

    def opening(self) -> None:
        self._peak_of_window = all(forget_peak(pid) for pid in self._pids)
        self._before = self._look()

    def closing(self) -> None:
        self._after = self._look()

    def _look(self) -> _Look:
        return _Look(
            time.monotonic(),
            _sum([cpu_seconds(pid) for pid in self._pids]),
            _whole_sum([memory_bytes(pid) for pid in self._pids]),
            _whole_sum([peak_memory_bytes(pid) for pid in self._pids]),
            snapshot(),
            read_energy(),
            read_cards(),
        )

    def seen(self, records: Sequence[Record], client_cpu_s: float | None) -> dict[str, Any]:
        """`records` are the window's."""
        before, after = self._before, self._after
        if before is None or after is None:
            return {"reasons": {"host": "the run was cut short before its window was over"}}
        elapsed_s = after.at_s - before.at_s
        tokens = _output_tokens(records)
        reasons: dict[str, str] = {}
        found = {
            "elapsed_ms": ms(elapsed_s),
            "engine": self._engine(before, after, elapsed_s, reasons),
            "client": _cpu(client_cpu_s, elapsed_s),
            "machine": _machine(before, after, reasons),
            "energy": self._energy(before, after, tokens, reasons),
            "cards": _cards(before.cards, after.cards, elapsed_s, tokens if self._here else None, reasons),
        }
        if client_cpu_s is None:
            reasons["client"] = "the load process did not say how much processor time it used"
        return {**found, "reasons": reasons}

    def _engine(self, before: _Look, after: _Look, elapsed_s: float, reasons: dict[str, str]) -> dict[str, Any]:
        used = None
        if before.engine_cpu_s is not None and after.engine_cpu_s is not None:
            used = after.engine_cpu_s - before.engine_cpu_s
        if used is None:
            ours = all(pid is not None for pid in self._pids)
            reasons["engine"] = "this system does not tell" if ours else "the endpoint's process is not ours"
        return {
            **_cpu(used, elapsed_s),
            "memory_bytes": after.memory_bytes,
            "memory_peak_bytes": after.peak_bytes,
            "memory_peak_since": None
            if after.peak_bytes is None
            else "the window's start"
            if self._peak_of_window
            else "the engine's start",
        }

    def _energy(
        self, before: _Look, after: _Look, tokens: int | None, reasons: dict[str, str]
    ) -> dict[str, float | None]:
        energy = energy_between(before.energy, after.energy)
        each = None
        if energy.joules is None:
            reasons["energy"] = energy.why or "not known"
        elif not self._here:
            reasons["joules_per_output_token"] = "the endpoint is on another machine"
        elif not tokens:
            reasons["joules_per_output_token"] = "the number of output tokens is not known"
        else:
            each = energy.joules / tokens
        return {"joules": energy.joules, "joules_per_output_token": each, **energy.zones}


def is_here(running: Running) -> bool:
    """On this machine, as far as one can know: a process of ours, or a loopback address."""
    if running.pid is not None:
        return True
    host = parse_url(running.base_url).host
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _sum(values: Sequence[float | None]) -> float | None:
    return None if any(value is None for value in values) else sum(value or 0.0 for value in values)


def _whole_sum(values: Sequence[int | None]) -> int | None:
    return None if any(value is None for value in values) else sum(value or 0 for value in values)


def _output_tokens(records: Sequence[Record]) -> int | None:
    counts = [record.reply.output_tokens for record in records if record.outcome == "ok"]
    return _whole_sum(counts) if counts else None


def _cpu(used_s: float | None, elapsed_s: float) -> dict[str, Any]:
    cores = None if used_s is None or elapsed_s <= 0 else round(used_s / elapsed_s, 4)
    return {"cpu_ms": ms(used_s), "cores": cores}


def _machine(before: _Look, after: _Look, reasons: dict[str, str]) -> dict[str, Any]:
    found = between(before.machine, after.machine)
    if found.busy_cores is None:
        reasons["machine"] = "this system does not tell"
    return {"busy_cores": found.busy_cores, "steal_share": found.steal_share}


def _cards(
    before: Cards, after: Cards, elapsed_s: float, tokens: int | None, reasons: dict[str, str]
) -> list[dict[str, Any]] | None:
    why = before.why or after.why
    if why is None and len(before.cards) != len(after.cards):
        why = "the number of cards changed during the run"
    if why is not None:
        reasons["cards"] = why
        return None
    return [_card(first, last, elapsed_s, tokens) for first, last in zip(before.cards, after.cards, strict=True)]


def _card(before: Card, after: Card, elapsed_s: float, tokens: int | None) -> dict[str, Any]:
    joules = None
    if before.energy_j is not None and after.energy_j is not None and after.energy_j >= before.energy_j:
        joules = after.energy_j - before.energy_j
    return {
        "name": after.name,
        "joules": joules,
        "joules_per_output_token": joules / tokens if joules is not None and tokens else None,
        "mean_w": joules / elapsed_s if joules is not None and elapsed_s > 0 else None,
        "power_w": [before.power_w, after.power_w],
        "busy_share": [before.busy_share, after.busy_share],
        "memory_used_bytes": [before.memory_used_bytes, after.memory_used_bytes],
        "memory_total_bytes": after.memory_total_bytes,
    }
