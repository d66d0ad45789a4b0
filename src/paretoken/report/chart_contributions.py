"""What each technique brings, as a picture: alone (circle) and inside the winner (diamond), with 95 % whiskers.

Enters a Reading; leaves SVG, or None when nothing was taken apart. A row a technique, the last row all together; the
axis is the ratio, with a line where nothing changes.
"""

from dataclasses import dataclass
from typing import Any

from paretoken.report.chart_parts import CHAR_PX, Scale, Words, as_is, axes_layer, layer, scale_around, text_layer
from paretoken.report.chart_scatter import ends
from paretoken.report.chart_style import colour, svg_of
from paretoken.report.contributions import less_is_better, metric_words, shares, whole
from paretoken.report.figures import Figure, shorten, show_times, show_value
from paretoken.report.reading import BASELINE, RECOMMENDED, Reading

WIDTH, _ROW_PX, _APART_PX = 385, 62, 7
TOGETHER = "all together"


@dataclass(frozen=True, slots=True)
class Row:
    words: str
    alone: Figure
    inside: Figure

    @property
    def said(self) -> str:
        named = (("alone", self.alone), ("inside", self.inside)) if self.words != TOGETHER else (("", self.inside),)
        return ", ".join(f"{name} {show_times(f.value)}".strip() for name, f in named if f.value is not None)


def contribution_rows(reading: Reading) -> list[Row]:
    """What can be drawn: positive ratios, the whole in the last row."""
    found = [
        Row(share.words, share.alone.ratio if share.alone else Figure(), share.inside) for share in shares(reading)
    ]
    together = whole(reading)
    if found and together is not None:
        found.append(Row(TOGETHER, Figure(), together.ratio))
    return [row for row in found if _drawable(row.alone) or _drawable(row.inside)]


def _drawable(figure: Figure) -> bool:
    return figure.known and min(ends(figure)) > 0


def contributions_picture(reading: Reading) -> str | None:
    shown = contribution_rows(reading)
    if not shown:
        return None
    height = _ROW_PX * len(shown) + 16
    values = [end for row in shown for figure in (row.alone, row.inside) if _drawable(figure) for end in ends(figure)]
    x = scale_around([*values, 1.0], WIDTH)
    dots, whiskers, words = [], [], []
    for index, row in enumerate(shown):
        top = height - _ROW_PX * index - 10
        for figure, role, shape, off in (
            (row.alone, BASELINE, "circle", _APART_PX),
            (row.inside, RECOMMENDED, "diamond", -_APART_PX),
        ):
            if not _drawable(figure):
                continue
            y, paint = top - 26 + (off if row.words != TOGETHER else 0), colour(role)
            dots.append({"x": figure.value, "y": y, "shape": shape, "paint": paint})
            whiskers.append({"x": min(ends(figure)), "x2": max(ends(figure)), "y": y, "paint": paint})
        room = int(WIDTH / CHAR_PX) - len(row.said) - 2
        bold = row.words == TOGETHER
        words.append(Words(x.low, top, shorten(row.words, room), colour("ink"), bold=bold))
        words.append(Words(x.high, top, row.said, colour("ink"), "right"))
    better = "left is better" if less_is_better(reading) else "right is better"
    layers = [axes_layer(x, Scale(0.0, height, height), f"{metric_words(reading)}, ratio; {better}", None)]
    layers += _no_change(x, [height - _ROW_PX * index - 36 for index in range(len(shown))])
    rule = layer(whiskers).mark_rule(strokeWidth=1.8, opacity=0.6)
    layers.append(rule.encode(x="x:Q", x2="x2:Q", y="y:Q", stroke=as_is("paint")))
    mark = layer(dots).mark_point(filled=True, opacity=1, size=95)
    layers.append(mark.encode(x="x:Q", y="y:Q", shape=as_is("shape"), fill=as_is("paint")))
    layers.append(text_layer(words, halo=True))
    return svg_of(layers, WIDTH, height)


def _no_change(x: Scale, levels: list[float]) -> list[Any]:
    """The line at 1, a piece a row: a whole line would cross the rows' names."""
    pieces = layer([{"x": 1.0, "y": level - 17, "y2": level + 15} for level in levels])
    rule = pieces.mark_rule(color=colour("line"), strokeDash=[4, 3], strokeWidth=1.5)
    name = "no change"
    at_the_end = x.to_px(1.0) > x.pixels - CHAR_PX * (len(name) + 1)
    align, dx = ("right", -4) if at_the_end else ("left", 4)
    words = Words(1.0, 10, name, colour("line"), align, dx=dx)
    return [rule.encode(x="x:Q", y="y:Q", y2="y2:Q"), text_layer([words], halo=True)]


def contributions_words(reading: Reading) -> str:
    """What stands in for the picture."""
    said = []
    for row in contribution_rows(reading):
        parts = [
            f"{name} {show_value(figure, show_times)}"
            for name, figure in (("alone", row.alone), ("inside the winner", row.inside))
            if figure.known
        ]
        said.append(f"{row.words}: {row.said if row.words == TOGETHER else ', '.join(parts)}")
    return f"Ratio of {metric_words(reading)} that each technique brings. {'; '.join(said)}."
