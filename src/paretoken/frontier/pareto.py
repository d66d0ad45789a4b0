"""The frontier: the points that no other point beats beyond the intervals.

Enter: points with a value and a 95 % interval on each axis (lower is better on all: cost, p95 TTFT, p95 TPOT). Leave:
those on the frontier, those dominated and by whom, and those that never could be on it with the reason. Knows no unit
and no name of an axis.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# A point that failed more of its requests than this is no service at this load; its latencies are the survivors'.
MOST_FAILED_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A value with its interval. An end that is not known is infinitely far: it can't support a claim."""

    value: float
    low: float | None
    high: float | None

    @classmethod
    def exact(cls, value: float) -> "Coordinate":
        return cls(value, value, value)

    def beyond(self, other: "Coordinate") -> bool:
        """Better than `other`, with both intervals apart."""
        return self.high is not None and other.low is not None and self.high < other.low


@dataclass(frozen=True, slots=True)
class Point:
    """`axes` by name; None: not measured, so the point can't be placed. `why_not` says why a trial has no numbers to
    be believed (it crashed, its behaviour changed): it is then never on the frontier."""

    label: str
    axes: Mapping[str, Coordinate | None]
    failed_share: float = 0.0
    why_not: str | None = None

    @property
    def infeasible(self) -> str | None:
        if self.why_not is not None:
            return self.why_not
        if not self.failed_share <= MOST_FAILED_SHARE:
            return f"{self.failed_share * 100:.3g} % of its requests failed"
        missing = [name for name, found in self.axes.items() if found is None or not math.isfinite(found.value)]
        return f"{', '.join(missing)} was not measured" if missing else None


@dataclass(frozen=True, slots=True)
class Frontier:
    on: tuple[Point, ...]
    dominated: tuple[tuple[Point, Point], ...]  # (the point, one that dominates it)
    infeasible: tuple[tuple[Point, str], ...]  # (the point, why)


def dominates(a: Point, b: Point) -> bool:
    """a is no worse than b by value on every axis, and better beyond the intervals on at least one.

    "No worse by value" keeps this an order (no cycle can empty the frontier); "beyond the intervals" keeps noise from
    deciding: points that can't be told apart all stay.
    """
    pairs = [(mine, theirs) for name, mine in a.axes.items() if mine and (theirs := b.axes[name])]
    no_worse = len(pairs) == len(a.axes) and all(mine.value <= theirs.value for mine, theirs in pairs)
    return no_worse and any(mine.beyond(theirs) for mine, theirs in pairs)


def frontier(points: Sequence[Point]) -> Frontier:
    """All points must have the same axes. The order of the input is kept."""
    if len({frozenset(point.axes) for point in points}) > 1:
        raise ValueError("points on one frontier need the same axes")
    able = [point for point in points if point.infeasible is None]
    by = {id(point): next((other for other in able if dominates(other, point)), None) for point in able}
    return Frontier(
        on=tuple(point for point in able if by[id(point)] is None),
        dominated=tuple((point, other) for point in able if (other := by[id(point)]) is not None),
        infeasible=tuple((point, why) for point in points if (why := point.infeasible) is not None),
    )
