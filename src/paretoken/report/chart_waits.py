"""Waits as pictures: every request before and after as a dot, and one request token by token against the 100 ms line.

Enters a Reading; leaves SVG, or None when there is nothing to draw. A row a candidate, all rows on one axis from zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from paretoken.report.chart_parts import (
    CHAR_PX,
    LINE_MS,
    Scale,
    Words,
    as_is,
    axes_layer,
    layer,
    limit_layer,
    scale_around,
    text_layer,
)
from paretoken.report.chart_scatter import ROLE_WORDS
from paretoken.report.chart_style import colour, svg_of
from paretoken.report.figures import shared_unit, shorten, show_ms
from paretoken.report.reading import OTHER, RECOMMENDED, Reading
from paretoken.units import MS_PER_S

WIDTH, NARROW, WIDE = 385, 385, 940
MAX_DOTS = 200  # a row; more are thinned out evenly by rank, which keeps the shape
_ROW_PX, _DOT_PX = 92, 5.2
_SECONDS_FROM_MS = 2 * MS_PER_S


@dataclass(frozen=True, slots=True)
class Row:
    label: str
    role: str
    values_ms: list[float]

    @property
    def name(self) -> str:
        words = ROLE_WORDS[self.role]
        return f"{self.label}, {words}" if words else self.label


def thinned(values: Sequence[float], count: int) -> list[float]:
    """At most `count` of the values, evenly by rank, smallest and largest among them."""
    ordered = sorted(values)
    if len(ordered) <= count:
        return ordered
    return [ordered[round(k * (len(ordered) - 1) / (count - 1))] for k in range(count)]


def swarm(pixels: Sequence[float], room_px: float) -> list[float]:
    """For dots at these places along a line, how far each is moved off it so that none hides another.

    Dots that fall into the same column are stacked around the line; a full column is pressed together.
    """
    columns: dict[int, list[int]] = {}
    for index, px in enumerate(pixels):
        columns.setdefault(round(px / _DOT_PX), []).append(index)
    moved = [0.0] * len(pixels)
    for members in columns.values():
        step = min(_DOT_PX, room_px / max(1, len(members)))
        for rank, index in enumerate(members):
            moved[index] = step * ((rank + 1) // 2) * (1 if rank % 2 else -1)
    return moved


def distributions(reading: Reading, name: str, words: str) -> str | None:
    """Each request's wait as a dot, a row for each finalist: as given, by hand, recommended."""
    found = [Row(label, reading.role(label), reading.samples(label, name)) for label in reading.finalists]
    shown = [row for row in found if row.values_ms]
    if not shown:
        return None
    height = _ROW_PX * len(shown)
    x, unit, divide = _axis([value for row in shown for value in row.values_ms], WIDTH)
    dots, words_in_rows, marks = [], [], []
    for index, row in enumerate(shown):
        middle = height - _ROW_PX * (index + 0.62)
        kept = [value / divide for value in thinned(row.values_ms, MAX_DOTS)]
        offsets = swarm([x.to_px(value) for value in kept], _ROW_PX * 0.56)
        paint = colour(row.role)
        dots += [{"x": v, "y": middle + off, "paint": paint} for v, off in zip(kept, offsets, strict=True)]
        half = median(row.values_ms)
        marks.append({"x": half / divide, "y": middle - 24, "y2": middle + 24, "paint": colour("ink")})
        top = height - _ROW_PX * index - 10
        words_in_rows += _head(row, f"median {show_ms(half)}", x, LINE_MS / divide, top)
    layers = [_plain_axes(x, height, f"{words} ({unit})")]
    layers.append(
        layer(dots).mark_point(filled=True, size=19, opacity=0.75).encode(x="x:Q", y="y:Q", fill=as_is("paint"))
    )
    layers.append(layer(marks).mark_rule(strokeWidth=2).encode(x="x:Q", y="y:Q", y2="y2:Q", stroke=as_is("paint")))
    layers += [limit_layer(x, LINE_MS / divide, 8, "100 ms"), text_layer(words_in_rows, halo=True)]
    return svg_of(layers, WIDTH, height)


def timeline(reading: Reading, *, width: int) -> str | None:
    """One median request of each: the wait for the first word as a bar, then a tick a chunk; 0 is when it was due."""
    found = [Row(label, reading.role(label), reading.timeline_ms(label)) for label in reading.finalists]
    shown = [row for row in found if row.values_ms]
    if not shown:
        return None
    row_px = 66
    height = row_px * len(shown)
    x, unit, divide = _axis([value for row in shown for value in row.values_ms], width)
    bars, ticks, words = [], [], []
    for index, row in enumerate(shown):
        y = height - row_px * (index + 0.66)
        moments = [value / divide for value in sorted(row.values_ms)]
        paint = colour(row.role)
        bars.append({"x": 0, "x2": moments[0], "y": y, "paint": paint})
        ticks += [{"x": moment, "y": y - 11, "y2": y + 11, "paint": paint} for moment in thinned(moments, 300)]
        top = height - row_px * index - 10
        said = shared_unit(show_ms(min(row.values_ms)), " to ", show_ms(max(row.values_ms)))
        words += _head(row, said, x, LINE_MS / divide, top)
    layers = [_plain_axes(x, height, f"time since the request was due ({unit})")]
    bar = layer(bars).mark_rule(strokeWidth=7, opacity=0.35)
    layers.append(bar.encode(x="x:Q", x2="x2:Q", y="y:Q", stroke=as_is("paint")))
    layers.append(layer(ticks).mark_rule(strokeWidth=1.7).encode(x="x:Q", y="y:Q", y2="y2:Q", stroke=as_is("paint")))
    layers += [limit_layer(x, LINE_MS / divide, 6, "100 ms"), text_layer(words, halo=True)]
    return svg_of(layers, width, height)


def _axis(values_ms: list[float], width: int) -> tuple[Scale, str, float]:
    """The axis from zero, in s when it is long and in ms when it is short; always as far as the 100 ms line."""
    in_s = max(values_ms) >= _SECONDS_FROM_MS
    divide = MS_PER_S if in_s else 1.0
    held = [value / divide for value in (*values_ms, LINE_MS)]
    return scale_around(held, width, from_zero=True), "s" if in_s else "ms", divide


def _plain_axes(x: Scale, height: float, words: str) -> Any:
    """The wait's axis; rows have names instead of a y axis, whose unit is therefore the pixel."""
    return axes_layer(x, Scale(0.0, height, height), words, None)


def _head(row: Row, said: str, x: Scale, limit: float, top: float) -> list[Words]:
    """A row's name at the left and its figures at the right; a name that would reach the figures is shortened.

    `limit` is where the 100 ms line stands on `x`.
    """
    # Words that the 100 ms line would cross end left of it.
    line = x.to_px(limit)
    end = line - 5 if 0 < x.pixels - line < CHAR_PX * (len(said) + 1) else x.pixels
    start = _names_start(x, limit)
    room = (end - x.to_px(start)) / CHAR_PX - len(said) - 1
    name = Words(
        start,
        top,
        shorten(row.name, int(room)),
        colour("muted" if row.role == OTHER else row.role),
        bold=row.role == RECOMMENDED,
    )
    return [name, Words(x.from_px(end), top, said, colour("ink"), "right")]


def _names_start(x: Scale, limit: float) -> float:
    """Where the rows' names begin: right of the 100 ms line where that line is near the left edge."""
    at = x.to_px(limit)
    return x.from_px(at + 5) if at < 40 else 0.0
