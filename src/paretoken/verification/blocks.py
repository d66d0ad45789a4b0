"""Means over positions that come in documents, with an interval that resamples documents.

Neighbouring positions of one document resemble each other, so a document is the unit of resampling. Enter values and
their documents; leave mean, standard error and 95 % interval. Percentile bootstrap, its half-widths stretched by
t(n−1)/z · √(n/(n−1)), because few documents understate the scatter (coverage is held by a test). Deterministic.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretoken.metrics.quantiles import unanimous_bound
from paretoken.metrics.student import t_quantile
from paretoken.verification.positions import Floats, Ints

RESAMPLES = 4000
_SEED = 20261130
_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Mean:
    """`low`, `high` and `se` are None for fewer than two documents: one can't show how much it scatters."""

    value: float
    se: float | None
    low: float | None
    high: float | None

    def exp(self) -> "Mean":
        """The interval of e^mean; the standard error by the delta method."""
        value = _exp(self.value)
        if self.se is None or self.low is None or self.high is None:
            return Mean(value, None, None, None)
        return Mean(value, value * self.se, _exp(self.low), _exp(self.high))

    def as_json(self) -> dict[str, Any]:
        low, high = _finite(self.low), _finite(self.high)
        ends = None if low is None or high is None else [low, high]
        # A distance that is not a number has its own verdict; JSON has no word for it.
        return {"value": _finite(self.value), "se": _finite(self.se), "ci95": ends}


def _finite(x: float | None) -> float | None:
    return x if x is not None and math.isfinite(x) else None


def _exp(x: float) -> float:
    """e^x, held below the largest float: a ratio of 10^300 says what infinity would say, and JSON can write it."""
    return math.exp(min(x, 700.0))


def block_share(yes: NDArray[np.bool_], document: Ints) -> Mean:
    """block_mean of a share. Where all or none say yes no resample differs, and the exact bound over documents, which
    are what is independent, is taken."""
    found = block_mean(yes.astype(np.float64), document)
    if found.low is None or found.value not in (0.0, 1.0):
        return found
    edge = unanimous_bound(len(np.unique(document)))
    return replace(found, low=0.0, high=1 - edge) if found.value == 0.0 else replace(found, low=edge, high=1.0)


def block_mean(values: Floats, document: Ints) -> Mean:
    """The mean of `values` and its interval over documents, which may be of unequal length. At least one value."""
    _, index = np.unique(document, return_inverse=True)
    counts = np.bincount(index).astype(np.float64)
    sums = np.bincount(index, weights=values)
    n = len(counts)
    mean = float(sums.sum() / counts.sum())
    if n < 2:
        return Mean(mean, None, None, None)
    if not np.ptp(values):
        return Mean(mean, 0.0, mean, mean)
    times = np.random.default_rng(_SEED).multinomial(n, np.full(n, 1.0 / n), size=RESAMPLES)
    drawn = (times @ sums) / (times @ counts)
    low, high = np.quantile(drawn, [0.025, 0.975])
    small = math.sqrt(n / (n - 1))
    stretch = small * t_quantile(0.95, n - 1) / _Z
    return Mean(
        value=mean,
        se=float(drawn.std()) * small,
        low=mean - stretch * (mean - float(low)),
        high=mean + stretch * (float(high) - mean),
    )
