"""The knee of a frontier: where a little more of one is no longer worth a lot of the other.

Enters the frontier's points; leaves one of them, or why there is none. Each axis is scaled to 0 (the best on the
frontier) to 1 (the worst), and the knee is the point nearest to the corner where all are best: the one that gives up
least on its worst sides. Below three points there is nothing between two ends.
"""

import math
from collections.abc import Sequence

from paretoken.frontier.pareto import Point

FEWEST_POINTS = 3


def knee(on: Sequence[Point]) -> tuple[Point | None, str]:
    """(the knee, what was looked at in words) or (None, why there is none)."""
    if len(on) < FEWEST_POINTS:
        return None, f"a knee needs {FEWEST_POINTS} points on the frontier, and there {_are(len(on))}"
    axes = list(on[0].axes)
    scaled = {axis: _scaled([_value(point, axis) for point in on]) for axis in axes}
    distances = [math.sqrt(sum(scaled[axis][place] ** 2 for axis in axes)) for place in range(len(on))]
    best = min(range(len(on)), key=distances.__getitem__)
    return on[best], f"nearest to the best of all axes at once ({', '.join(axes)}), each scaled over the frontier"


def _value(point: Point, axis: str) -> float:
    coordinate = point.axes[axis]
    assert coordinate is not None  # a point without it is infeasible, and not on the frontier
    return coordinate.value


def _scaled(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    return [0.0 if high == low else (value - low) / (high - low) for value in values]


def _are(count: int) -> str:
    return {0: "is none", 1: "is one", 2: "are two"}[count]
