"""Candidates against each other: throughput against a wait, with the frontier and its knee.

Enters a Reading; leaves SVG, or None when there is nothing to draw. All points of one picture have the same statistic.
Where there are many candidates only those that matter have their names in the picture; a table has them all.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from paretoken.report.chart_labels import Box
from paretoken.report.chart_parts import (
    CHAR_PX,
    LINE_MS,
    Words,
    axes_layer,
    layer,
    limit_layer,
    scale_around,
    text_layer,
)
from paretoken.report.chart_scatter import ORDER, Point, ends, scatter
from paretoken.report.chart_style import colour, svg_of
from paretoken.report.choice import knee_label
from paretoken.report.figures import Figure, mapping, plain, quantile, rows, scalar
from paretoken.report.reading import OTHER, RATE, REFUSED, Reading
from paretoken.units import MS_PER_S

WIDTH, HEIGHT = 370, 300
MANY = 9  # candidates; beyond it names would hide each other
_NAMED_REFUSED = 2


def common_stat(reading: Reading, name: str) -> str:
    """p95 when every candidate has one, else the median: a p95 beside a median would make the screened look better."""
    points = [row for row in reading.candidates if scalar(row, RATE).known]
    whole = all(mapping(row.get(name)).get("stat") == "p95" and scalar(row, name).known for row in points)
    return "p95" if whole else "p50"


def wait_points(reading: Reading, name: str) -> list[Point]:
    """One point a candidate that has both figures: its wait in ms, its rate in tok/s."""
    stat, found = common_stat(reading, name), []
    for row in reading.candidates:
        label, held = plain(row.get("label")), mapping(row.get(name))
        wait = scalar(row, name) if held.get("stat") == stat else reading.figure(label, name, stat)
        if not wait.known:
            wait = _screened(reading, label, name, stat)
        role = REFUSED if row.get("state") == "refused" else reading.role(label)
        point = Point(label, role, wait, scalar(row, RATE), at_knee=label == knee_label(reading))
        if (
            min(ends(point.x), default=0.0) > 0
            and min(ends(point.y), default=0.0) > 0
            and point.x.known
            and point.y.known
        ):
            found.append(point)
    return sorted(found, key=lambda point: ORDER.index(point.role))


def _screened(reading: Reading, label: str, name: str, stat: str) -> Figure:
    for trial in rows(reading.result.get("trials")):
        if plain(mapping(trial.get("candidate")).get("label")) == label:
            found = quantile(trial.get("metrics"), name, stat)
            if found.known:
                return found
    return Figure()


def frontier(reading: Reading, name: str, wait_words: str) -> str | None:
    """Output rate against a wait (`name` is a distribution of M). Up and left is better."""
    points = wait_points(reading, name)
    if not points:
        return None
    in_s = max(point.x.value or 0.0 for point in points) >= 2 * MS_PER_S
    divide = MS_PER_S if in_s else 1.0
    points = _named([replace(point, x=_divided(point.x, divide)) for point in points])
    x = scale_around([end for point in points for end in ends(point.x)], WIDTH)
    y = scale_around([end for point in points for end in ends(point.y)], HEIGHT)
    stat = {"p95": "p95", "p50": "median"}[common_stat(reading, name)]
    layers = [axes_layer(x, y, f"{wait_words}, {stat} ({'s' if in_s else 'ms'})", "output tokens per second")]
    layers.append(text_layer([Words(x.from_px(4), y.from_px(HEIGHT - 9), "↖ better", colour("muted"))]))
    taken = [Box(2, 0, 2 + 9 * CHAR_PX, 18)]
    if x.low < LINE_MS / divide < x.high:
        layers.append(limit_layer(x, LINE_MS / divide, y.from_px(8), "100 ms"))
        at = x.to_px(LINE_MS / divide)
        taken.append(Box(at - 3, 0, at + 3, HEIGHT))
    steps = _unbeaten(points)
    for (x1, y1), (x2, y2) in pairwise((x.to_px(a), HEIGHT - y.to_px(b)) for a, b in steps):
        taken += [Box(x1, y1 - 1, x2, y1 + 1), Box(x2 - 1, y2, x2 + 1, y1)]
    return svg_of([*layers, _staircase(steps), *scatter(points, x, y, taken)], WIDTH, HEIGHT)


def _divided(figure: Figure, divide: float) -> Figure:
    value, low, high = (None if end is None else end / divide for end in (figure.value, figure.low, figure.high))
    return Figure(value, low, high)


def _unbeaten(points: Sequence[Point]) -> list[tuple[float, float]]:
    """The staircase of what nothing else in this picture beats: at most this wait, at least this rate."""
    able = sorted((point.x.value or 0.0, point.y.value or 0.0) for point in points if point.role != REFUSED)
    steps: list[tuple[float, float]] = []
    for x, y in able:
        if not steps or y > steps[-1][1]:
            steps.append((x, y))
    return steps


def _named(points: list[Point]) -> list[Point]:
    """All of a few. Of many: each role of its own, the fastest refused, and what nothing else beats."""
    if len(points) <= MANY:
        return points
    steps = set(_unbeaten(points))
    by_rate = sorted((p for p in points if p.role == REFUSED), key=lambda p: p.y.value or 0.0, reverse=True)
    told = {point.label for point in by_rate[:_NAMED_REFUSED]}
    return [
        replace(
            point,
            named=point.role not in (OTHER, REFUSED)
            or point.at_knee
            or point.label in told
            or (point.role == OTHER and (point.x.value, point.y.value) in steps),
        )
        for point in points
    ]


def _staircase(steps: Sequence[tuple[float, float]]) -> Any:
    if len(steps) < 2:
        return None
    mark = layer([{"x": x, "y": y} for x, y in steps]).mark_line(
        color=colour("muted"), strokeWidth=1.2, interpolate="step-after", strokeDash=[2, 3]
    )
    return mark.encode(x="x:Q", y="y:Q", order="x:Q")
