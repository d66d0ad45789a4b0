"""Energy counters: sums over packages, wrap-around, and a reason wherever there is no figure."""

from dataclasses import replace
from pathlib import Path

import pytest

from paretoken.machine.rapl import EnergyReading, energy_between, read_energy


def zone(root: Path, name: str, label: str, energy_uj: int, limit_w: float | None = 100.0) -> None:
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "name").write_text(f"{label}\n")
    (folder / "energy_uj").write_text(f"{energy_uj}\n")
    (folder / "max_energy_range_uj").write_text("262143328850\n")
    if limit_w is not None:
        (folder / "constraint_0_power_limit_uw").write_text(f"{limit_w * 1e6:.0f}\n")


def machine(root: Path, package: int, dram: int = 0) -> EnergyReading:
    zone(root, "intel-rapl:0", "package-0", package)
    zone(root, "intel-rapl:0:0", "core", package // 2)
    zone(root, "intel-rapl:0:1", "dram", dram, None)
    zone(root, "intel-rapl:1", "psys", package * 3)
    return read_energy(root)


def after(root: Path, seconds: float, since: EnergyReading, package: int, dram: int = 0) -> EnergyReading:
    return replace(machine(root, package, dram), at_s=since.at_s + seconds)


def test_packages_and_memory_count_cores_and_platform_do_not(tmp_path: Path) -> None:
    before = machine(tmp_path, 1_000_000)
    found = energy_between(before, after(tmp_path, 10, before, 401_000_000, 20_000_000))
    assert found.why is None and found.joules == pytest.approx(420.0)
    assert found.zones["intel-rapl:0:0 (core)"] == pytest.approx(200.0)
    assert found.zones["intel-rapl:1 (psys)"] == pytest.approx(1200.0)


def test_a_counter_wraps_around_at_its_range(tmp_path: Path) -> None:
    before = machine(tmp_path, 262_143_000_000)
    found = energy_between(before, after(tmp_path, 10, before, 1_000_000))
    assert found.joules == pytest.approx(1.32885)


def test_where_it_may_have_wrapped_twice_there_is_no_figure(tmp_path: Path) -> None:
    before = machine(tmp_path, 1)
    found = energy_between(before, after(tmp_path, 2000, before, 2))
    assert found.joules is None and "more than once" in (found.why or "")


def test_a_machine_without_counters_says_so(tmp_path: Path) -> None:
    nothing = read_energy(tmp_path / "absent")
    assert energy_between(nothing, nothing).why == "this machine shows no energy counters (RAPL)"
    (tmp_path / "intel-rapl:0").mkdir()
    assert read_energy(tmp_path).why == "no energy counter of this machine can be read"


def test_counters_for_root_only_are_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(tmp_path, 1)
    honest = Path.read_text

    def read_text(self: Path, *args: object, **kwargs: object) -> str:
        if self.name == "energy_uj":
            raise PermissionError(13, "Permission denied")
        return honest(self)

    monkeypatch.setattr(Path, "read_text", read_text)
    found = read_energy(tmp_path)
    assert found.why == "the energy counters may be read by root only (intel-rapl:0/energy_uj)"
    assert energy_between(found, found).joules is None


def test_a_counter_that_vanishes_is_a_reason(tmp_path: Path) -> None:
    before = machine(tmp_path, 1)
    found = energy_between(before, replace(before, counters={}))
    assert found.joules is None and "vanished" in (found.why or "")
