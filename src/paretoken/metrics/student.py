"""Student's t distribution for whole degrees of freedom, without scipy: the base install has to judge too.

Source of the formula: the finite series of Abramowitz and Stegun 26.7.3 and 26.7.4, exact for whole degrees of freedom.
"""

import math
from functools import lru_cache


def t_within(t: float, df: int) -> float:
    """P(|T| ≤ t) with `df` degrees of freedom, t ≥ 0."""
    if df < 1 or t < 0:
        raise ValueError(f"t_within needs df ≥ 1 and t ≥ 0, not df={df}, t={t}")
    theta = math.atan2(t, math.sqrt(df))
    sine, cosine = math.sin(theta), math.cos(theta)
    term = total = cosine if df % 2 else 1.0
    # Odd: cosθ + 2/3 cos³θ + (2·4)/(3·5) cos⁵θ + …;  even: 1 + 1/2 cos²θ + (1·3)/(2·4) cos⁴θ + …
    for k in range(3 if df % 2 else 2, df - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    if df % 2 == 0:
        return sine * total
    return 2 / math.pi * (theta + (sine * total if df > 1 else 0.0))


def two_sided_p(t: float, df: int) -> float:
    """P(|T| > |t|). Below 1e-15 the difference from 1 is lost: 0."""
    return 0.0 if math.isinf(t) else max(0.0, 1.0 - t_within(abs(t), df))


@lru_cache(maxsize=4096)
def t_quantile(level: float, df: int) -> float:
    """The t with P(|T| ≤ t) = level: 0.95 and 5 → 2.5706 (half width of a two-sided interval in standard errors)."""
    if not 0 < level < 1:
        raise ValueError(f"a level lies between 0 and 1, not {level}")
    low, high = 0.0, 1.0
    while t_within(high, df) < level:
        low, high = high, high * 2
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if t_within(middle, df) < level:
            low = middle
        else:
            high = middle
    return (low + high) / 2
