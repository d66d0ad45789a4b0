"""Percentiles by known answers, intervals by the binomial tables and by their coverage."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoken.metrics.quantiles import (
    effective_n,
    interval_ranks,
    name_of,
    needed_for_upper_end,
    percentile,
    quantile_interval,
    supported,
)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.floats(0, 1))
def test_type_7_is_numpys_linear(values: list[float], q: float) -> None:
    ordered = np.array(sorted(values))
    assert percentile(ordered, q) == pytest.approx(float(np.quantile(ordered, q)), rel=1e-9, abs=1e-6)


def test_no_sample_no_percentile() -> None:
    with pytest.raises(ValueError, match="no sample"):
        percentile(np.array([]), 0.5)


@pytest.mark.parametrize(
    ("q", "n", "why"),
    [
        (0.99, 99, "n=99: p99 needs 100"),
        (0.99, 100, None),
        (0.999, 999, "n=999: p99.9 needs 1000"),
        (0.999, 1000, None),
        (0.95, 1, None),
    ],
)
def test_the_n_rule(q: float, n: int, why: str | None) -> None:
    assert supported(q, n) == why


def test_names() -> None:
    assert [name_of(q) for q in (0.5, 0.95, 0.999)] == ["p50", "p95", "p99.9"]


@pytest.mark.parametrize(("q", "needed"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368)])
def test_the_smallest_n_with_an_upper_end(q: float, needed: int) -> None:
    assert needed_for_upper_end(q) == needed
    assert interval_ranks(needed, q)[1] == needed
    assert interval_ranks(needed - 1, q)[1] is None


@pytest.mark.parametrize("n", [1, 5, 6, 17, 72, 100, 368, 1000])
@pytest.mark.parametrize("q", [0.5, 0.9, 0.95, 0.99])
def test_ranks_hold_at_most_a_fortieth_on_each_side_and_no_narrower_ones_do(n: int, q: float) -> None:
    def below(k: int) -> float:
        return sum(math.comb(n, i) * q**i * (1 - q) ** (n - i) for i in range(k + 1))

    lower, upper = interval_ranks(n, q)
    if lower is not None:
        assert below(lower - 1) <= 0.025 + 1e-12
    assert below(lower or 0) > 0.025 - 1e-12
    if upper is not None:
        assert 1 - below(upper - 1) <= 0.025 + 1e-12
        assert 1 - below(upper - 2) > 0.025 - 1e-12
    else:
        assert 1 - below(n - 1) > 0.025


def test_an_end_that_n_does_not_carry_is_null_with_the_reason() -> None:
    ordered = np.arange(50.0)
    ends, why = quantile_interval(ordered, 0.95)
    assert ends == (43.0, None)
    assert why == "n=50: the upper end of p95's interval needs 72"
    assert quantile_interval(np.arange(3.0), 0.5) == ((None, None), "n=3: both ends of p50's interval needs 6")
    assert quantile_interval(np.arange(72.0), 0.95)[1] is None


def test_samples_of_one_group_count_as_one() -> None:
    """Each value thirty times over, once for each group: as good as the values alone, not thirty times better."""
    random = np.random.default_rng(1)
    values = np.repeat(random.normal(size=60), 30)
    groups = np.repeat(np.arange(60), 30)
    order = np.argsort(values, kind="stable")
    assert 50 <= effective_n(values[order], groups[order], 0.5) <= 62
    alone = quantile_interval(np.unique(values), 0.5)[0]
    together = quantile_interval(values[order], 0.5, groups[order])[0]
    naive = quantile_interval(values[order], 0.5)[0]
    assert alone[0] is not None and alone[1] is not None and together[0] is not None and together[1] is not None
    assert naive[0] is not None and naive[1] is not None
    assert together[1] - together[0] == pytest.approx(alone[1] - alone[0], rel=0.35)
    assert naive[1] - naive[0] < 0.5 * (alone[1] - alone[0])


def test_independent_samples_in_groups_lose_little() -> None:
    random = np.random.default_rng(2)
    values = np.sort(random.normal(size=2000))
    groups = random.integers(0, 100, size=2000)
    assert effective_n(values, groups, 0.95) > 1200


def test_one_group_tells_as_much_as_one_sample() -> None:
    ends, why = quantile_interval(np.arange(500.0), 0.5, np.zeros(500, dtype=np.int64))
    assert ends == (None, None)
    assert why is not None and "worth 1 independent" in why


def test_intervals_cover() -> None:
    """1,000 samples of 100 exponentials: the interval of p90 holds the true value in at least 95 % (minus noise)."""
    random = np.random.default_rng(20261130)
    true = -math.log(0.1)
    held = 0
    for _ in range(1000):
        (low, high), _why = quantile_interval(np.sort(random.exponential(size=100)), 0.9)
        assert low is not None and high is not None
        held += low <= true <= high
    assert held >= 950 - 21  # 3 standard deviations of a binomial with 95 %
