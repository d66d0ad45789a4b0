"""What the machine spent: what is not known is null with a reason, never zero."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from paretoken.engines.endpoint import Attached
from paretoken.machine.nvml import Card, Cards
from paretoken.machine.rapl import Counter, EnergyReading
from paretoken.study.host import HostWatch, is_here
from tests.made import record

RECORDS = [record(n, tokens=10) for n in range(2)]
CARD = Card("Card", 100.0, 0.5, 1, 2, 1000.0)


def attached(url: str = "http://127.0.0.1:9") -> Attached:
    return Attached(url, "m", "openai-chat-sse")


def energy(uj: int, at_s: float) -> EnergyReading:
    return EnergyReading(at_s, {"intel-rapl:0": Counter("package-0", uj, 10**12, 100.0)})


def watched(
    monkeypatch: pytest.MonkeyPatch, url: str, readings: Sequence[EnergyReading], cards: Sequence[Cards]
) -> dict[str, Any]:
    left, of = iter(readings), iter(cards)
    monkeypatch.setattr("paretoken.study.host.read_energy", lambda: next(left))
    monkeypatch.setattr("paretoken.study.host.read_cards", lambda: next(of))
    watch = HostWatch(attached(url))
    watch.opening()
    watch.closing()
    return watch.seen(RECORDS, 0.5)


def test_joules_and_joules_per_output_token(monkeypatch: pytest.MonkeyPatch) -> None:
    later = replace(CARD, energy_j=1040.0)
    found = watched(
        monkeypatch, "http://127.0.0.1:9", [energy(0, 0.0), energy(80_000_000, 2.0)], [Cards((CARD,)), Cards((later,))]
    )
    assert found["energy"]["joules"] == pytest.approx(80.0)
    assert found["energy"]["joules_per_output_token"] == pytest.approx(4.0)
    (card,) = found["cards"]
    assert (card["joules"], card["joules_per_output_token"]) == (40.0, 2.0)
    assert found["client"]["cpu_ms"] == 500.0
    assert found["engine"]["cpu_ms"] is None and found["reasons"]["engine"] == "the endpoint's process is not ours"


def test_energy_here_says_nothing_of_an_endpoint_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    cards = [Cards((CARD,)), Cards((CARD,))]
    found = watched(monkeypatch, "http://192.0.2.1:9", [energy(0, 0.0), energy(80_000_000, 2.0)], cards)
    assert found["energy"]["joules_per_output_token"] is None
    assert found["reasons"]["joules_per_output_token"] == "the endpoint is on another machine"
    assert found["cards"][0]["joules_per_output_token"] is None


def test_what_is_absent_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    none = EnergyReading(0.0, {}, "no counters")
    found = watched(monkeypatch, "http://localhost:9", [none, none], [Cards((), "no driver")] * 2)
    assert found["energy"] == {"joules": None, "joules_per_output_token": None}
    assert found["cards"] is None
    assert (found["reasons"]["energy"], found["reasons"]["cards"]) == ("no counters", "no driver")


def test_a_window_that_never_closed_says_so() -> None:
    assert "cut short" in HostWatch(attached()).seen([], None)["reasons"]["host"]


def test_where_an_endpoint_is() -> None:
    assert is_here(attached("http://[::1]:9")) and is_here(attached("http://localhost:9/v1"))
    assert not is_here(attached("http://example.org")) and not is_here(attached("http://10.0.0.1:9"))
