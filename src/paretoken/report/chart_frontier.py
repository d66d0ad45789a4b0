"""Candidates against each other: throughput against a wait, and behaviour against size.

Enters a Reading; leaves SVG, or None when there is nothing to draw. All points of one picture have the same statistic.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from paretoken.report.chart_labels import Box
from paretoken.report.chart_parts import (
    CHAR_PX,
    LINE_MS,
    Scale,
    Words,
    axes_layer,
    layer,
    level_layer,
    limit_layer,
    scale_around,
    text_layer,
)
from paretoken.report.chart_scatter import ORDER, Point, ends, scatter
from paretoken.report.chart_style import colour, svg_of
from paretoken.report.figures import Figure, mapping, number, plain, quantile, rows, scalar
from paretoken.report.reading import BASELINE, OTHER, RATE, RECOMMENDED, REFUSED, Reading
from paretoken.units import MS_PER_S

WIDTH, HEIGHT = 370, 300
_BYTES_PER_MB = 1_000_000


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
        point = Point(label, role, wait, scalar(row, RATE))
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
    points = [Point(point.label, point.role, _divided(point.x, divide), point.y) for point in points]
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


def _staircase(steps: Sequence[tuple[float, float]]) -> Any:
    if len(steps) < 2:
        return None
    mark = layer([{"x": x, "y": y} for x, y in steps]).mark_line(
        color=colour("muted"), strokeWidth=1.2, interpolate="step-after", strokeDash=[2, 3]
    )
    return mark.encode(x="x:Q", y="y:Q", order="x:Q")


def behaviour_points(reading: Reading) -> list[Point]:
    """One point a set of weights: its size in MB, its mean KLD to the baseline. The baseline itself is at 0."""
    found: dict[str, tuple[float, Point]] = {}
    size = reading.bytes_of(reading.baseline)
    base = [Point("as given", BASELINE, Figure(size / _BYTES_PER_MB), Figure(0.0))] if size else []
    for row in (*rows(reading.result.get("trials")), mapping(reading.result.get("recommended"))):
        candidate = mapping(row.get("candidate"))
        model = mapping(candidate.get("model"))
        is_recommended = plain(candidate.get("label")) == reading.recommended
        judged = reading.behaviour if is_recommended and reading.behaviour else mapping(row.get("behaviour"))
        kld, size = scalar(judged, "kld"), number(model.get("bytes"))
        if not kld.known or not size or min(ends(kld)) < 0:
            continue
        role = REFUSED if row.get("state") == "refused" else RECOMMENDED if is_recommended else OTHER
        point = Point(_weights_name(candidate), role, Figure(size / _BYTES_PER_MB), kld)
        positions = number(judged.get("positions")) or 0.0
        key = plain(model.get("fingerprint"))
        if key not in found or positions > found[key][0] or ORDER.index(role) < ORDER.index(found[key][1].role):
            found[key] = (positions, point)
    return sorted([*base, *(point for _, point in found.values())], key=lambda point: ORDER.index(point.role))


def _weights_name(candidate: Mapping[str, Any]) -> str:
    """The number type that the weights were made in, else the model's own name."""
    for applied in rows(candidate.get("techniques")):
        if applied.get("level") == "model":
            kind = mapping(applied.get("settings")).get("to")
            return plain(kind or applied.get("technique"))
    return plain(mapping(candidate.get("model")).get("name"))


def behaviour_against_size(reading: Reading) -> str | None:
    """KL divergence against the size of the file, with the margin. Down and left is better."""
    points = behaviour_points(reading)
    if len(points) < 2:
        return None
    margin = reading.margin_nat or 0.0
    x = scale_around([point.x.value or 0.0 for point in points], WIDTH)
    highest = max(margin, *(end for point in points for end in ends(point.y)))
    y = Scale(0.0, highest * 1.6 or 1.0, HEIGHT, "symlog")
    layers = [axes_layer(x, y, "size of the weights (MB)", "mean KLD to the baseline (nat)")]
    taken = []
    if margin:
        layers.append(level_layer(margin, x.from_px(WIDTH - 4), f"margin {margin:g}"))
        at = HEIGHT - y.to_px(margin)
        taken = [Box(0, at - 2, WIDTH, at + 2), Box(WIDTH - 13 * CHAR_PX, at - 20, WIDTH, at)]
    return svg_of([*layers, *scatter(points, x, y, taken)], WIDTH, HEIGHT)
