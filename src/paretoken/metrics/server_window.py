"""What a server counted between two looks at its /metrics.

Enters two pages and the dialect that they speak; leaves counters as differences, gauges as both values, histograms as
the window's own count, mean and percentiles. A counter that fell says that the server was restarted in between; then
nothing of the window can be known. Knows no run: what we saw meanwhile is verification's to hold against it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from paretoken.units import MS_PER_S
from paretoken.wire.prometheus import Buckets, Page
from paretoken.wire.server_metrics import COUNTER, GAUGE, HISTOGRAM, Dialect, Metric, name_in

SHOWN = {"p50": 0.5, "p95": 0.95}
_STARTED = "process_start_time_seconds"  # every server that uses Prometheus' own client libraries says this


@dataclass(frozen=True, slots=True)
class Within:
    """A percentile as a histogram knows it: interpolated, and the bucket in which it lies. `high` is None in the last,
    endless bucket; there is then no value either."""

    value: float | None
    low: float
    high: float | None


@dataclass(frozen=True, slots=True)
class HistogramWindow:
    """Observations of the window alone. The mean is exact, percentiles are as fine as the buckets."""

    count: float
    sum: float
    quantiles: Mapping[str, Within] = field(default_factory=dict)

    @property
    def mean(self) -> float | None:
        return self.sum / self.count if self.count > 0 else None


@dataclass(frozen=True, slots=True)
class ServerWindow:
    """By our names; times in seconds. What the server does not show is not in it."""

    dialect: Dialect
    counters: Mapping[str, float]
    gauges: Mapping[str, tuple[float, float]]
    histograms: Mapping[str, HistogramWindow]
    names: Mapping[str, str]  # our name → the server's
    restarted: str | None  # what says so
    malformed: int

    def as_json(self) -> dict[str, Any]:
        seconds = {metric.name for metric in self.dialect.metrics if metric.unit == "s"}
        return {
            "counters": {
                f"{name}_ms" if name in seconds else name: round(value * MS_PER_S, 6) if name in seconds else value
                for name, value in self.counters.items()
            },
            "gauges": {name: {"before": before, "after": after} for name, (before, after) in self.gauges.items()},
            "histograms": {f"{name}_ms": _histogram_json(found) for name, found in self.histograms.items()},
            "names": dict(self.names),
            "malformed_lines": self.malformed,
        }


def _histogram_json(found: HistogramWindow) -> dict[str, Any]:
    quantiles: dict[str, Any] = {}
    for name, within in found.quantiles.items():
        quantiles[name] = _ms(within.value)
        quantiles[f"{name}_bucket"] = [_ms(within.low), _ms(within.high)]
    return {"count": found.count, "mean": _ms(found.mean), **quantiles}


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * MS_PER_S, 6)


def window_between(before: Page, after: Page, dialect: Dialect) -> ServerWindow:
    """A series that is new in `after` began at 0: servers show a label set from its first event on."""
    counters: dict[str, float] = {}
    gauges: dict[str, tuple[float, float]] = {}
    histograms: dict[str, HistogramWindow] = {}
    names: dict[str, str] = {}
    restarted = _restarted(before, after, dialect)
    for metric in dialect.metrics:
        name = name_in(after, metric)
        if name is None or restarted is not None:
            continue
        if metric.kind == COUNTER and (change := _change(before, after, name, metric)) is not None:
            counters[metric.name] = change
        elif metric.kind == GAUGE:
            ends = before.total(name), after.total(name)
            if ends[0] is not None and ends[1] is not None:
                gauges[metric.name] = (ends[0] * metric.scale, ends[1] * metric.scale)
        elif metric.kind == HISTOGRAM and (found := _histogram(before, after, name, metric)) is not None:
            histograms[metric.name] = found
        if metric.name in counters or metric.name in gauges or metric.name in histograms:
            names[metric.name] = name
    malformed = before.malformed + after.malformed
    return ServerWindow(dialect, counters, gauges, histograms, names, restarted, malformed)


def _restarted(before: Page, after: Page, dialect: Dialect) -> str | None:
    started = before.total(_STARTED), after.total(_STARTED)
    if started[0] is not None and started[1] is not None and abs(started[1] - started[0]) > 1.0:
        return "the server's own start time changed"
    for metric in dialect.metrics:
        for name in metric.names:
            counted = {COUNTER: name, HISTOGRAM: f"{name}_count"}.get(metric.kind)
            if counted is None:
                continue
            later = after.series(counted)
            for labels, value in before.series(counted).items():
                if later.get(labels, value) < value:  # a label set that is gone says nothing
                    return f"the server's counter {counted} fell"
    return None


def _change(before: Page, after: Page, name: str, metric: Metric) -> float | None:
    later = after.total(name, metric.where)
    if later is None:
        return None
    earlier = before.total(name, metric.where)
    if earlier is None and before.series(name, metric.where):
        return None  # it was there, and no number
    change = later - (earlier or 0.0)
    return change * metric.scale if change >= 0 else None  # label sets that are gone


def _histogram(before: Page, after: Page, name: str, metric: Metric) -> HistogramWindow | None:
    later = after.histogram(name, metric.where)
    if later is None:
        return None
    earlier = before.histogram(name, metric.where) or Buckets((), (), 0.0, 0.0)
    already = dict(zip(earlier.bounds, earlier.cumulative, strict=True))
    if earlier.count and set(already) != set(later.bounds):
        bounds = tuple(sorted(set(already) & set(later.bounds)))
    else:
        bounds = later.bounds
    now = dict(zip(later.bounds, later.cumulative, strict=True))
    counts = [now[bound] - already.get(bound, 0.0) for bound in bounds]
    count = later.count - earlier.count
    if count < 0:
        return None
    scaled = tuple(bound * metric.scale for bound in bounds)
    quantiles = {shown: within for shown, q in SHOWN.items() if (within := _quantile(scaled, counts, count, q))}
    return HistogramWindow(count, (later.sum - earlier.sum) * metric.scale, quantiles)


def _quantile(bounds: tuple[float, ...], cumulative: list[float], count: float, q: float) -> Within | None:
    """Linear inside the bucket, as Prometheus' histogram_quantile does it. None without observations, or where the
    counts are none."""
    falls = any(later < earlier for earlier, later in pairwise(cumulative))
    if count <= 0 or not bounds or falls:
        return None
    rank = q * count
    low, below = (0.0, 0.0) if bounds[0] > 0 else (-math.inf, 0.0)
    for bound, reached in zip(bounds, cumulative, strict=True):
        if reached >= rank and reached > below:
            if math.isinf(bound) or math.isinf(low):
                return Within(None, low, None if math.isinf(bound) else bound)
            return Within(low + (bound - low) * (rank - below) / (reached - below), low, bound)
        low, below = bound, reached
    return Within(None, low, None)
