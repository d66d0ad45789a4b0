"""The two shapes of a figure: a scalar and a distribution, each with its interval, or null with the reason.

Python holds seconds; `as_json` of a distribution speaks milliseconds. No NaN or infinity gets in: a figure that cannot
be is refused where it is made.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from paretoken.metrics.quantiles import Ends
from paretoken.units import ms

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}


def _finite(*values: float | None) -> None:
    if any(value is not None and not math.isfinite(value) for value in values):
        raise ValueError(f"a figure is a number or null, never {values}")


@dataclass(frozen=True, slots=True)
class Scalar:
    """One number. `reasons` says why `value` or `ci95` is null, or what the value leaves out."""

    value: float | None
    ci95: Ends | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _finite(self.value, *(self.ci95 or ()))

    def as_json(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "ci95": None if self.ci95 is None else list(self.ci95),
            "reasons": dict(self.reasons),
        }

    @classmethod
    def unknown(cls, reason: str) -> "Scalar":
        return cls(None, None, {"value": reason})


@dataclass(frozen=True, slots=True)
class Distribution:
    """Spans in seconds. `quantiles` has all names of QUANTILES, null where n does not carry them. The true value of a
    figure lies within its `bounds` (least, most) where stamps are not exact, give or take the clock's own error;
    `error_bound_s` is the most by which any figure may be off, both counted; None: not known."""

    n: int
    mean: float | None
    quantiles: Mapping[str, float | None]
    max: float | None
    ci95: Mapping[str, Ends | None] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    error_bound_s: float | None = None
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _finite(self.mean, self.max, *self.quantiles.values())

    @property
    def p50(self) -> float | None:
        return self.quantiles["p50"]

    @property
    def p95(self) -> float | None:
        return self.quantiles["p95"]

    def as_json(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "mean": ms(self.mean),
            **{name: ms(value) for name, value in self.quantiles.items()},
            "max": ms(self.max),
            "ci95": {name: None if ends is None else [ms(end) for end in ends] for name, ends in self.ci95.items()},
            "reasons": dict(self.reasons),
            "error_bound_ms": ms(self.error_bound_s),
            "bounds_ms": {name: [ms(low), ms(high)] for name, (low, high) in self.bounds.items()},
        }

    @classmethod
    def unknown(cls, reason: str) -> "Distribution":
        names = ("mean", *QUANTILES)
        return cls(
            0, None, dict.fromkeys(QUANTILES), None, dict.fromkeys(names), dict.fromkeys((*names, "max"), reason)
        )
