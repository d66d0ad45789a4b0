"""Behaviour against size: how far each set of weights is from the baseline, with the margin as a line.

Enters a Reading; leaves points and SVG, or None when there is nothing to compare. The divergence's axis is logarithmic,
with a place for zero: the very same numbers are a result too.
"""

from collections.abc import Mapping
from typing import Any

from paretoken.report.chart_labels import Box
from paretoken.report.chart_parts import CHAR_PX, Scale, axes_layer, level_layer, scale_around
from paretoken.report.chart_scatter import ORDER, Point, ends, scatter
from paretoken.report.chart_style import svg_of
from paretoken.report.figures import Figure, mapping, number, plain, rows, scalar
from paretoken.report.reading import BASELINE, OTHER, RECOMMENDED, REFUSED, Reading

WIDTH, HEIGHT = 370, 300
_BYTES_PER_MB = 1_000_000
_REFUSING = ("changed", "fail")


def behaviour_points(reading: Reading) -> list[Point]:
    """One point a set of weights: its size in MB, its mean KLD to the baseline. The baseline itself is at 0."""
    listed = rows(reading.result.get("model_level"))
    found = [*_baseline_point(reading), *(_listed(reading, listed) if listed else _from_trials(reading))]
    return sorted(found, key=lambda point: ORDER.index(point.role))


def _baseline_point(reading: Reading) -> list[Point]:
    size = reading.bytes_of(reading.baseline)
    return [Point("as given", BASELINE, Figure(size / _BYTES_PER_MB), Figure(0.0))] if size else []


def _listed(reading: Reading, listed: list[Mapping[str, Any]]) -> list[Point]:
    """Every variant of the model that was looked at, as the study lists it."""
    chosen = _chosen(reading, listed)
    found = []
    for row in listed:
        label, size, kld = plain(row.get("label")), number(row.get("bytes")), scalar(row, "kld")
        if not kld.known or not size or (size == reading.bytes_of(reading.baseline) and kld.value == 0):
            continue
        role = REFUSED if row.get("verdict") in _REFUSING else OTHER
        if role == OTHER and row is chosen:
            role = RECOMMENDED
        found.append(Point(label, role, Figure(size / _BYTES_PER_MB), _not_negative(kld)))
    return found


def _chosen(reading: Reading, listed: list[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The recommended's row: the one of its size, and of several that of its name."""
    if reading.recommended is None or reading.invalid:
        return None
    name = _weights_name(mapping(mapping(reading.result.get("recommended")).get("candidate")))
    alike = [row for row in listed if number(row.get("bytes")) == reading.bytes_of(reading.recommended)]
    return next((row for row in alike if plain(row.get("label")) == name), alike[0] if len(alike) == 1 else None)


def _not_negative(kld: Figure) -> Figure:
    """An interval by normal theory may reach below zero, where no divergence is."""
    value, low, high = (None if end is None else max(0.0, end) for end in (kld.value, kld.low, kld.high))
    return Figure(value, low, high)


def margin_nat(reading: Reading) -> float:
    """The gate's margin; 0 when nobody says it."""
    for row in rows(reading.result.get("model_level")):
        found = number(row.get("margin_nat"))
        if found:
            return found
    return reading.margin_nat or 0.0


def _from_trials(reading: Reading) -> list[Point]:
    """Documents of before list no variants: one point each fingerprint among the trials, with its finest evidence."""
    found: dict[str, tuple[float, Point]] = {}
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
    return [point for _, point in found.values()]


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
    margin = margin_nat(reading)
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
