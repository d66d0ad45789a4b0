"""Exact tests for counts, in whole numbers: no scipy, so that the base install can judge.

Enter counts; leaves a one-sided p-value. Fisher's exact test conditions on both margins (hypergeometric tail).
"""

from math import comb


def more_often(hits: int, of: int, base_hits: int, base_of: int) -> float:
    """P-value for "hits/of is a larger share than base_hits/base_of" (Fisher, one-sided); 1.0 where nothing was hit."""
    if not (0 <= hits <= of and 0 <= base_hits <= base_of):
        raise ValueError(f"more hits than tries: {hits}/{of}, {base_hits}/{base_of}")
    all_hits, total = hits + base_hits, of + base_of
    ways = sum(
        comb(of, k) * comb(base_of, all_hits - k) for k in range(hits, min(of, all_hits) + 1) if all_hits - k <= base_of
    )
    # Python divides whole numbers of any size exactly rounded.
    return ways / comb(total, all_hits)
