"""How much larger one share may be than another, from two counts.

Enter hits of tries on both sides; leaves the one-sided upper 95 % end of the difference of the shares: Newcombe's
hybrid of two Wilson intervals, which holds its coverage for small counts and for shares near 0 as well.
"""

import math

_Z = 1.6448536269514722  # one-sided 95 %


def excess_high(hits: int, of: int, base_hits: int, base_of: int) -> float:
    """The most by which hits/of may lie above base_hits/base_of; 1.0, the most there is, where one of them is empty."""
    if not (0 <= hits <= of and 0 <= base_hits <= base_of):
        raise ValueError(f"more hits than tries: {hits}/{of}, {base_hits}/{base_of}")
    if not of or not base_of:
        return 1.0
    share, base_share = hits / of, base_hits / base_of
    above = _wilson(hits, of)[1] - share
    below = base_share - _wilson(base_hits, base_of)[0]
    return share - base_share + math.hypot(above, below)


def share_high(hits: int, of: int) -> float:
    """The one-sided upper 95 % end of hits/of (Wilson)."""
    return _wilson(hits, of)[1]


def _wilson(hits: int, of: int) -> tuple[float, float]:
    share, z2 = hits / of, _Z**2
    middle = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = _Z / (1 + z2 / of) * math.sqrt(share * (1 - share) / of + z2 / (4 * of**2))
    return max(0.0, middle - half), min(1.0, middle + half)
