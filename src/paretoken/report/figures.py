"""Reads figures out of a result document and writes them for people: one number, its interval, its unit.

Enters JSON that may come from elsewhere: a missing, null or non-numeric value becomes a Figure without a value and
with its reason, never an exception and never a made-up number. Leaves short strings whose unit stands with the number.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from paretoken.units import MS_PER_S, show_duration

NOT_KNOWN = "not known"
COST, PRICED = "machine_s_per_mtok", "cost_per_mtok"


def plain(text: object) -> str:
    """One line of printable text out of whatever a model, a server or a file said.

    Control characters would move a terminal's cursor and abort the chart renderer; bidirectional marks would reorder
    the words around them.
    """
    words = str(text)
    if not words.isprintable():
        words = "".join(c if c.isprintable() else " " for c in words)
    return " ".join(words.split())


def shorten(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def number(value: object) -> float | None:
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def rows(value: object) -> list[Mapping[str, Any]]:
    """The members of a list that are objects."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list | tuple) else []


def numbers(value: object) -> list[float]:
    found = [number(item) for item in value] if isinstance(value, list | tuple) else []
    return [item for item in found if item is not None]


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its 95 % interval. An end that is None is open, and `reason` says why."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None

    @property
    def known(self) -> bool:
        return self.value is not None

    def inverted(self) -> "Figure":
        """1/x with its interval: a rate's ratio becomes a cost's ratio."""
        value, low, high = (None if not end else 1 / end for end in (self.value, self.high, self.low))
        return Figure(value, low, high, self.reason)


Show = Callable[[float], str]


def _figure(value: object, interval: object, reason: object) -> Figure:
    low, high = interval if isinstance(interval, list | tuple) and len(interval) == 2 else (None, None)
    said = (
        list(reason.values()) if isinstance(reason, Mapping) else reason if isinstance(reason, list) else [reason or ""]
    )
    words = "; ".join(dict.fromkeys(plain(item) for item in said))
    return Figure(number(value), number(low), number(high), words or None)


def scalar(holder: object, name: str) -> Figure:
    """`holder[name]` = {value, ci95, reasons}; a bare number has no interval."""
    found = mapping(holder).get(name)
    if isinstance(found, Mapping):
        return _figure(found.get("value"), found.get("ci95"), found.get("reasons"))
    return Figure(number(found))


def cost_of(holder: object) -> Figure:
    """The cost of a million output tokens: money where a price was given, else machine seconds.

    M holds one cost a denominator, a frontier point the output's alone.
    """
    held = mapping(holder)
    name = PRICED if PRICED in held else COST
    found = mapping(held.get(name))
    return scalar(found, "output") if "output" in found else scalar(holder, name)


def currency_of(metrics: object) -> str | None:
    """The currency of M's cost; None where cost is machine time."""
    found = mapping(mapping(metrics).get(PRICED)).get("currency")
    return plain(found) if found else None


def show_cost(currency: str | None) -> Show:
    return show_seconds if currency is None else lambda value: f"{show_number(value)} {currency}"


def quantile(metrics: object, name: str, stat: str) -> Figure:
    """One statistic of the distribution `metrics[name]`, e.g. p95 of ttft_ms."""
    found = mapping(mapping(metrics).get(name))
    return _figure(found.get(stat), mapping(found.get("ci95")).get(stat), mapping(found.get("reasons")).get(stat))


def show_ms(value_ms: float) -> str:
    """1615.6 → '1.62 s': the unit is chosen with the number and never apart from it."""
    if abs(value_ms) < 999.5:
        return f"{show_number(value_ms)} ms"
    seconds = value_ms / MS_PER_S
    return f"{show_number(seconds)} s" if seconds < 119.5 else show_duration(seconds)


def show_number(value: float) -> str:
    """Three significant digits; thousands are grouped; what would be 1e-05 stays a decimal."""
    rounded = float(f"{value:.3g}")  # first, so that 9.996 has the decimals of 10.0
    if rounded == 0:
        return "0"
    if abs(rounded) >= 1000:
        return f"{value:,.0f}"
    return f"{rounded:.{max(0, 2 - math.floor(math.log10(abs(rounded))))}f}"


def show_seconds(value: float) -> str:
    return f"{show_number(value)} s"


def show_nat(value: float) -> str:
    """A divergence, two digits: 0.0041, 0.33. Its unit (nat) stands in the sentence."""
    if 0 < abs(value) < 0.0001:
        return f"{value:.0e}"
    rounded = float(f"{value:.2g}")
    return f"{rounded:.{max(0, 1 - math.floor(math.log10(abs(rounded))))}f}" if rounded else "0"


def show_rate(value: float) -> str:
    return f"{show_number(value)} tok/s"


def show_times(value: float) -> str:
    return f"{value:.2f}×" if value < 9.995 else f"{show_number(value)}×"


def show_value(figure: Figure, show: Show) -> str:
    return NOT_KNOWN if figure.value is None else show(figure.value)


def show_interval(figure: Figure, show: Show) -> str:
    """'1.52 to 1.70', or what is known of it; '' when nothing is."""
    if figure.low is not None and figure.high is not None:
        return shared_unit(show(figure.low), " to ", show(figure.high))
    if figure.low is not None:
        return f"at least {show(figure.low)}"
    if figure.high is not None:
        return f"at most {show(figure.high)}"
    return ""


def show_bracket(figure: Figure, show: Show) -> str:
    """'44.1 tok/s (42.8 to 45.4)': for tables, where the unit need not be said twice."""
    value, span = show_value(figure, show), show_interval(figure, show) if figure.known else ""
    unit = value.rpartition(" ")[2]
    return f"{value} ({span.removesuffix(unit).rstrip()})" if span else value


def shared_unit(first: str, between: str, second: str) -> str:
    """Two amounts with a unit that both share said once: '62 to 71 ms', '1.52 to 1.70×'."""
    amount, _, unit = first.partition(" ")
    if unit and second.endswith(f" {unit}"):
        return f"{amount}{between}{second}"
    if first.endswith("×") and second.endswith("×"):
        return f"{first[:-1]}{between}{second}"
    return f"{first}{between}{second}"
