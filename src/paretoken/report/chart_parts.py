"""What every chart is put together from: axes, layers of marks, text, limit lines."""

import json
import math
from dataclasses import dataclass
from typing import Any

from paretoken.report.chart_style import FONT_PX, altair, colour

CHAR_PX = 6.7  # mean width of a character at FONT_PX, a little on the wide side
LINE_MS = 100.0  # what people expect of an application
_SYMLOG_BEND = 0.002  # below it a symlog axis is linear, so that 0 has a place


@dataclass(frozen=True, slots=True)
class Scale:
    """Values ↔ pixels of one axis, the same arithmetic as Vega's, so that labels can be placed before drawing."""

    low: float
    high: float
    pixels: float
    kind: str = "linear"  # linear | log | symlog

    def to_px(self, value: float) -> float:
        low, high, value = (self._turn(v) for v in (self.low, self.high, value))
        return (value - low) / (high - low) * self.pixels

    def from_px(self, px: float) -> float:
        low, high = self._turn(self.low), self._turn(self.high)
        found = low + px / self.pixels * (high - low)
        if self.kind == "log":
            return math.exp(found)
        return math.expm1(found) * _SYMLOG_BEND if self.kind == "symlog" else found

    def _turn(self, value: float) -> float:
        if self.kind == "log":
            return math.log(value)
        return math.log1p(value / _SYMLOG_BEND) if self.kind == "symlog" else value

    def as_vega(self) -> Any:
        bend = {"constant": _SYMLOG_BEND} if self.kind == "symlog" else {}
        return altair().Scale(domain=[self.low, self.high], type=self.kind, nice=False, zero=False, **bend)

    def ticks(self) -> list[float]:
        """Round values; on a logarithmic axis 1, 2, 3, 5 and their decades, on a symlog axis 0 and the decades."""
        if self.kind == "symlog":
            return [0.0, *(10.0**decade for decade in range(-3, 6) if 10.0**decade <= self.high)]
        steps = [10**decade * digit for decade in range(-6, 10) for digit in (1, 2, 3, 5)]
        if self.kind == "log":
            return [step for step in steps if self.low <= step <= self.high]
        step = next(step for step in steps if (self.high - self.low) / step <= max(2.0, self.pixels / 70))
        first = math.ceil(self.low / step)
        return [round(step * k, 9) for k in range(first, math.floor(self.high / step) + 1)]


def scale_around(values: list[float], pixels: float, *, from_zero: bool = False) -> Scale:
    """An axis with room around the values; logarithmic where they differ more than fourfold."""
    low, high = min(values), max(values)
    if from_zero:
        return Scale(0.0, high * 1.06 or 1.0, pixels)
    if low > 0 and high / low > 4:
        room = (high / low) ** 0.12
        return Scale(low / room, high * room, pixels, "log")
    room = (high - low) * 0.14 or high * 0.1 or 1.0
    return Scale(max(0.0, low - room) if low >= 0 else low - room, high + room, pixels)


def layer(values: list[dict[str, Any]]) -> Any:
    """A layer with its rows. They travel as one string: altair copies lists deeply at every step of building."""
    alt = altair()
    return alt.Chart(alt.Data(values=json.dumps(values, allow_nan=False), format=alt.DataFormat(type="json")))


def as_is(field: str) -> Any:
    """A channel whose field already holds the colour, size or shape to draw."""
    return {"field": field, "type": "nominal", "scale": None, "legend": None}


def of_datum(field: str) -> Any:
    return altair().ExprRef(f"datum.{field}")


@dataclass(frozen=True, slots=True)
class Words:
    """Text in a chart, at values of its axes."""

    x: float
    y: float
    text: str
    paint: str
    align: str = "left"
    bold: bool = False
    dx: float = 0.0
    dy: float = 0.0


def text_layer(words: list[Words], *, halo: bool = False) -> Any:
    """`halo` draws the paper's colour around the letters, for text that may cross lines."""
    alt = altair()
    values = [
        {
            **{n: getattr(w, n) for n in ("x", "y", "text", "paint", "align", "dx", "dy")},
            "weight": "bold" if w.bold else "normal",
        }
        for w in words
    ]
    style = {
        name: of_datum(field)
        for name, field in (("align", "align"), ("fontWeight", "weight"), ("dx", "dx"), ("dy", "dy"))
    }
    at = {"x": "x:Q", "y": "y:Q", "text": alt.Text("text:N")}
    front = layer(values).mark_text(baseline="middle", fontSize=FONT_PX, **style).encode(**at, color=as_is("paint"))
    if not halo:
        return front
    paper = colour("paper")
    behind = layer(values).mark_text(
        baseline="middle", fontSize=FONT_PX, color=paper, stroke=paper, strokeWidth=4, strokeJoin="round", **style
    )
    return behind.encode(**at) + front


def axes_layer(x: Scale, y: Scale, x_words: str, y_words: str | None) -> Any:
    """An invisible layer that carries the axes; the y title stands flat above its axis, where it can be read.

    Without y words there is no y axis, and the grid runs the other way."""
    alt = altair()
    grid = y_words is None
    x_axis = alt.Axis(title=x_words, values=x.ticks(), grid=grid, titlePadding=8, format="~r", domain=True)
    flat = {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleX": -30, "titleY": -14}
    y_axis = None if y_words is None else alt.Axis(title=y_words, values=y.ticks(), format="~r", **flat)
    at = {"x": alt.X("x:Q", scale=x.as_vega(), axis=x_axis), "y": alt.Y("y:Q", scale=y.as_vega(), axis=y_axis)}
    return layer([{"x": x.high, "y": y.high}]).mark_point(opacity=0, color=colour("paper")).encode(**at)


def limit_layer(scale: Scale, x: float, y_of_words: float, words: str) -> Any:
    """A dashed upright line that names what it stands for, on the side where there is room."""
    rule = layer([{"x": x}]).mark_rule(color=colour("line"), strokeDash=[4, 3], strokeWidth=1.5).encode(x="x:Q")
    at_the_end = scale.to_px(x) > scale.pixels - CHAR_PX * (len(words) + 1)
    align, dx = ("right", -4) if at_the_end else ("left", 4)
    return rule + text_layer([Words(x, y_of_words, words, colour("line"), align, dx=dx)], halo=True)


def level_layer(y: float, x_of_words: float, words: str) -> Any:
    """The same lying, its words above its right end."""
    rule = layer([{"y": y}]).mark_rule(color=colour("line"), strokeDash=[4, 3], strokeWidth=1.5).encode(y="y:Q")
    return rule + text_layer([Words(x_of_words, y, words, colour("line"), "right", dy=-9)], halo=True)
