"""Seconds, bytes, tokens, money: parse and print. The only conversions in the project."""

import math
import re
from typing import overload

from paretoken.errors import UsageError

MS_PER_S = 1000.0
NS_PER_S = 1_000_000_000


@overload
def ms(seconds: float) -> float: ...
@overload
def ms(seconds: None) -> None: ...
def ms(seconds: float | None) -> float | None:
    """Seconds → milliseconds, rounded to a nanosecond so that JSON stays readable. None stays None."""
    return None if seconds is None else round(seconds * MS_PER_S, 6)


@overload
def from_ms(milliseconds: float) -> float: ...
@overload
def from_ms(milliseconds: None) -> None: ...
def from_ms(milliseconds: float | None) -> float | None:
    """Milliseconds as `ms` wrote them → the same seconds. None stays None."""
    return None if milliseconds is None else round(milliseconds / MS_PER_S, 9)


_DURATION = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|min|h)?\s*$")
_SECONDS_IN = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, None: 1.0}


def parse_duration_s(text: str) -> float:
    """'90', '90s', '6m', '1.5h', '250ms' → seconds. Raises UsageError on anything else or on zero."""
    match = _DURATION.match(text)
    seconds = float(match[1]) * _SECONDS_IN[match[2]] if match else 0.0
    if not 0 < seconds < math.inf:
        raise UsageError(f"'{text[:80]}' is not a duration; write for example 90s, 6m or 1h")
    return seconds


def show_duration(seconds: float) -> str:
    """0.0042 → '4.2 ms', 3.1 → '3.1 s', 312 → '5 min 12 s'."""
    if seconds < 0.9995:  # what three digits would round to 1000 ms is said in seconds
        return f"{seconds * MS_PER_S:.3g} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def show_bytes(count: float) -> str:
    """98_362_432 → '98.4 MB' (decimal units, as disks and downloads are sold)."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError


def show_percent(share: float) -> str:
    return f"{share * 100:.3g} %"


def show_ratio_change(ratio: float) -> str:
    """1.48 → '+48 %', 0.7 → '-30 %'."""
    return f"{(ratio - 1) * 100:+.0f} %"
