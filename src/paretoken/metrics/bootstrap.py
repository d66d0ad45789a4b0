"""95 % intervals of means, ratios and rates by resampling whole units: requests, sessions, or blocks of time.

Enter: one number (or a numerator and a denominator) a unit, and a seed; the same input gives the same interval. What a
unit is, the caller decides: samples that belong together must be summed into one unit first.
"""

import numpy as np

from paretoken.metrics.quantiles import Floats

RESAMPLES = 2000
FEWEST_UNITS = 5
# Upper bound of one batch of indices, so that a large run costs time and not memory.
_BATCH = 1_000_000


def ratio_interval(numerators: Floats, denominators: Floats, seed: int) -> tuple[float, float] | None:
    """Percentile interval of Σ numerators / Σ denominators; a mean is the ratio of sums to counts.

    None below FEWEST_UNITS units: so few can't show how much they scatter.
    """
    n = len(numerators)
    if n < FEWEST_UNITS:
        return None
    # A large sample needs fewer resamples: its interval is narrow, and so is the error of the interval's ends.
    resamples = min(RESAMPLES, max(400, 4_000_000 // n))
    random = np.random.default_rng(seed)
    drawn: list[Floats] = []
    rows = max(1, _BATCH // n)
    for start in range(0, resamples, rows):
        picks = random.integers(0, n, size=(min(rows, resamples - start), n))
        below = denominators[picks].sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            drawn.append(numerators[picks].sum(axis=1) / below)
    ratios = np.concatenate(drawn)
    ratios = ratios[np.isfinite(ratios)]
    if len(ratios) == 0:
        return None
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(low), float(high)


def mean_interval(values: Floats, seed: int) -> tuple[float, float] | None:
    """Percentile interval of the mean of independent units."""
    return ratio_interval(values, np.ones(len(values)), seed)


def too_few(n: int, what: str) -> str:
    return f"n={n}: an interval needs {FEWEST_UNITS} {what}"
