"""Candidates as points: shape and colour say the role, whiskers the interval, and each has its name beside it.

Enters points in the units of two axes; leaves layers of a chart.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paretoken.report.chart_labels import Box, Wanted, box_around, place
from paretoken.report.chart_parts import CHAR_PX, Scale, Words, as_is, layer, of_datum, text_layer
from paretoken.report.chart_style import FONT_PX, colour
from paretoken.report.figures import Figure, shorten
from paretoken.report.reading import BASELINE, HAND, OTHER, RECOMMENDED, REFUSED

ORDER = (RECOMMENDED, BASELINE, HAND, REFUSED, OTHER)
ROLE_WORDS = {RECOMMENDED: "recommended", BASELINE: "baseline", HAND: "hand setting", REFUSED: "refused", OTHER: ""}
_RING_PX = 14
_FAR_PX = 18  # a label further from its point than this is tied to it by a line
_CROSS = "M-.9-.9L.9 .9M.9-.9L-.9 .9"
_SHAPES = {RECOMMENDED: "diamond", BASELINE: "circle", HAND: "square", REFUSED: _CROSS, OTHER: "circle"}
_SIZES = {RECOMMENDED: 190, BASELINE: 110, HAND: 105, REFUSED: 90, OTHER: 60}


@dataclass(frozen=True, slots=True)
class Point:
    label: str
    role: str
    x: Figure
    y: Figure
    at_knee: bool = False
    named: bool = True  # a picture of many has no room for all names

    def pixel(self, x: Scale, y: Scale) -> tuple[float, float]:
        """Its place in the frame, y downwards."""
        return x.to_px(self.x.value or 0.0), y.pixels - y.to_px(self.y.value or 0.0)


def ends(figure: Figure) -> list[float]:
    return [end for end in (figure.value, figure.low, figure.high) if end is not None]


def scatter(points: Sequence[Point], x: Scale, y: Scale, taken: Sequence[Box]) -> list[Any]:
    """All layers of the points. Labels keep clear of the boxes `taken`; the first points' labels have first choice."""
    return [_whiskers(points), _rings(points), _marks(points), _labels(points, x, y, taken)]


def _whiskers(points: Sequence[Point]) -> Any:
    """95 % intervals; an end that is not known is not drawn."""
    lines = []
    for point in points:
        x, y, paint = point.x.value, point.y.value, colour(point.role)
        x_low, x_high, y_low, y_high = (
            point_end if point_end is not None else middle
            for point_end, middle in ((point.x.low, x), (point.x.high, x), (point.y.low, y), (point.y.high, y))
        )
        lines.append({"x": x_low, "x2": x_high, "y": y, "y2": y, "paint": paint})
        lines.append({"x": x, "x2": x, "y": y_low, "y2": y_high, "paint": paint})
    mark = layer(lines).mark_rule(strokeWidth=1.6, opacity=0.55)
    return mark.encode(x="x:Q", x2="x2:Q", y="y:Q", y2="y2:Q", stroke=as_is("paint"))


def _rings(points: Sequence[Point]) -> Any:
    """A ring around the frontier's knee."""
    at = [{"x": point.x.value, "y": point.y.value} for point in points if point.at_knee]
    if not at:
        return None
    return (
        layer(at)
        .mark_point(shape="circle", size=math.pi * _RING_PX**2, stroke=colour("ink"), strokeWidth=1.3)
        .encode(x="x:Q", y="y:Q")
    )


def _marks(points: Sequence[Point]) -> Any:
    """Refused ones are crosses, those that were only screened are hollow; the most important is drawn last."""
    dots = [
        {
            "x": point.x.value,
            "y": point.y.value,
            "shape": _SHAPES[point.role],
            "size": _SIZES[point.role],
            "inside": colour("paper" if point.role == OTHER else point.role),
            "edge": colour(point.role if point.role in (OTHER, REFUSED) else "paper"),
            "width": 2.6 if point.role == REFUSED else 1.5,
        }
        for point in reversed(points)
    ]
    mark = layer(dots).mark_point(filled=True, opacity=1, fillOpacity=1, strokeWidth=of_datum("width"))
    channels = {name: as_is(field) for name, field in (("fill", "inside"), ("stroke", "edge"), ("size", "size"))}
    return mark.encode(x="x:Q", y="y:Q", shape=as_is("shape"), **channels)


def _labels(points: Sequence[Point], x: Scale, y: Scale, taken: Sequence[Box]) -> Any:
    """Each point's name, and below it its role. Placed in pixels, drawn in values."""
    busy = [*taken, *_point_boxes(points, x, y), *_whisker_boxes(points, x, y)]
    points = [point for point in points if point.named]
    spots = [point.pixel(x, y) for point in points]
    texts = [_lines(point) for point in points]
    wanted = [
        Wanted(px, py, CHAR_PX * max(map(len, lines)), FONT_PX * 1.15 * len(lines), 17 if point.at_knee else 10)
        for point, (px, py), lines in zip(points, spots, texts, strict=True)
    ]
    boxes = place(wanted, (x.pixels, y.pixels), busy)
    words, leaders = [], []
    for point, (px, py), box, lines in zip(points, spots, boxes, texts, strict=True):
        to_x, to_y = box.nearest(px, py)
        if math.hypot(to_x - px, to_y - py) > _FAR_PX:
            ends_at = {"x2": x.from_px(to_x), "y2": y.from_px(y.pixels - to_y)}
            leaders.append({"x": x.from_px(px), "y": y.from_px(y.pixels - py), **ends_at})
        align, at = "center", (box.left + box.right) / 2
        if box.left >= px or box.right <= px:
            align, at = ("left", box.left) if box.left >= px else ("right", box.right)
        paint = colour("muted" if point.role == OTHER else point.role)
        for n, line in enumerate(lines):
            level = y.from_px(y.pixels - box.top - FONT_PX * (0.6 + 1.1 * n))
            words.append(Words(x.from_px(at), level, line, paint, align, bold=point.role != OTHER and n == 0))
    text = text_layer(words, halo=True)
    if not leaders:
        return text
    lines = layer(leaders).mark_rule(color=colour("muted"), strokeWidth=0.8, opacity=0.7)
    return lines.encode(x="x:Q", x2="x2:Q", y="y:Q", y2="y2:Q") + text


def _lines(point: Point) -> list[str]:
    """A name, and below it what it is."""
    what = " · ".join(words for words in (ROLE_WORDS[point.role], "knee" if point.at_knee else "") if words)
    return [words for words in (shorten(point.label, 26), what) if words]


def _point_boxes(points: Sequence[Point], x: Scale, y: Scale) -> list[Box]:
    return [box_around(*point.pixel(x, y), _RING_PX if point.at_knee else 8) for point in points]


def _whisker_boxes(points: Sequence[Point], x: Scale, y: Scale) -> list[Box]:
    found = []
    for point in points:
        px, py = point.pixel(x, y)
        xs = [x.to_px(end) for end in ends(point.x)]
        ys = [y.pixels - y.to_px(end) for end in ends(point.y)]
        found += [Box(min(xs), py - 2, max(xs), py + 2), Box(px - 2, min(ys), px + 2, max(ys))]
    return found
