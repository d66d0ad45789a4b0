"""Percentiles and the intervals around them.

Enter: numbers. Leave: linear (type 7) percentiles, and 95 % intervals by binomial order statistics, with null and a
reason where the sample is too small to say. Knows nothing of requests; which samples belong together is given as
`groups` (one number a sample), and makes the interval as wide as that many independent samples deserve.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Groups = NDArray[np.int64]
Ends = tuple[float | None, float | None]

# A percentile below these sample sizes would be little more than the slowest sample under another name.
SMALLEST_N = {0.99: 100, 0.999: 1000}
TAIL = 0.025  # on each side of a 95 % interval


def name_of(q: float) -> str:
    """0.95 → 'p95', 0.999 → 'p99.9'."""
    return f"p{q * 100:g}"


def percentile(ordered: Floats, q: float) -> float:
    """Type 7 of an ascending array: linear between the two neighbours of position q·(n−1)."""
    if len(ordered) == 0:
        raise ValueError("no sample has a percentile")
    position = q * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    low, high = float(ordered[below]), float(ordered[above])
    return low + (high - low) * (position - below)


def supported(q: float, n: int) -> str | None:
    """None when n samples carry this percentile, else the reason why not: 'n=71: p99 needs 100'."""
    needed = SMALLEST_N.get(q, 1)
    return None if n >= needed else f"n={n}: {name_of(q)} needs {needed}"


def unanimous_bound(n: int) -> float:
    """The least share that n independent samples, all of which say yes, leave possible: exact, where a bootstrap of
    them would claim certainty."""
    return float(TAIL ** (1 / n))


def needed_for_upper_end(q: float) -> int:
    """The smallest n whose largest sample lies above the quantile with 97.5 %: 72 for p95, 368 for p99."""
    return math.ceil(math.log(TAIL) / math.log(q) - 1e-9)


@lru_cache(maxsize=4096)
def interval_ranks(n: int, q: float) -> tuple[int | None, int | None]:
    """Ranks (1 … n) of the order statistics that enclose the q-quantile with at least 95 %, at most 2.5 % on each side.

    Exact: the number of samples below the quantile is binomial(n, q). None where even the extreme sample is not enough.
    """
    counts = np.arange(n + 1)
    log_factorial = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))
    log_choose = log_factorial[n] - log_factorial[counts] - log_factorial[n - counts]
    mass = np.exp(log_choose + counts * math.log(q) + (n - counts) * math.log1p(-q))
    at_most = np.cumsum(mass)
    # P(fewer than l below) ≤ 2.5 %, l as large as possible; P(at least u below) ≤ 2.5 %, u as small as possible.
    lower = int(np.searchsorted(at_most, TAIL, side="right"))
    upper = int(np.searchsorted(at_most, 1 - TAIL, side="left")) + 1
    return (lower if lower >= 1 else None), (upper if upper <= n else None)


def effective_n(ordered: Floats, groups: Groups, q: float) -> int:
    """How many independent samples tell as much about the q-quantile as these grouped ones (gaps of one request, turns
    of one session). From the variance between groups of the share below the quantile, after Korn and Graubard; never
    more than n, never fewer than 1. `groups` belongs to `ordered`, in its order."""
    n = len(ordered)
    kinds = int(groups.max()) + 1
    if kinds < 2:
        return 1
    below = (ordered <= percentile(ordered, q)).astype(np.float64)
    share = float(below.mean())
    sums = np.bincount(groups, weights=below - share, minlength=kinds)
    present = np.bincount(groups, minlength=kinds) > 0
    k = int(present.sum())
    if k < 2:
        return 1
    variance = k / (k - 1) * float((sums**2).sum()) / n**2
    if variance <= 0:
        return n
    return max(1, min(n, math.floor(share * (1 - share) / variance)))


def quantile_interval(ordered: Floats, q: float, groups: Groups | None = None) -> tuple[Ends, str | None]:
    """95 % interval of the q-quantile, and the reason where an end is null.

    With `groups` the ranks are those of `effective_n` samples, read at the same share of this sample.
    """
    n = len(ordered)
    m = n if groups is None else effective_n(ordered, groups, q)
    lower, upper = interval_ranks(m, q)
    low = None if lower is None else _at_rank(ordered, lower, m)
    high = None if upper is None else _at_rank(ordered, upper, m)
    if low is not None and high is not None:
        return (low, high), None
    said = f"n={n}" if m == n else f"n={n}, worth {m} independent ones"
    needed, end = needed_for_upper_end(q), "the upper end"
    if high is not None:
        needed, end = needed_for_upper_end(1 - q), "the lower end"
    elif low is None:
        needed, end = max(needed, needed_for_upper_end(1 - q)), "both ends"
    return (low, high), f"{said}: {end} of {name_of(q)}'s interval needs {needed}"


def _at_rank(ordered: Floats, rank: int, m: int) -> float:
    if m == len(ordered):
        return float(ordered[rank - 1])
    return percentile(ordered, (rank - 1) / (m - 1) if m > 1 else 0.0)
