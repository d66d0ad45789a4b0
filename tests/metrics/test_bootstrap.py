"""Bootstrap intervals: reproducible, honest about few units, and covering."""

import numpy as np
import pytest

from paretoken.metrics.bootstrap import mean_interval, ratio_interval, too_few


def test_the_same_seed_gives_the_same_interval() -> None:
    values = np.random.default_rng(0).exponential(size=40)
    assert mean_interval(values, 7) == mean_interval(values, 7)
    assert mean_interval(values, 7) != mean_interval(values, 8)


def test_few_units_have_no_interval() -> None:
    assert mean_interval(np.arange(4.0), 0) is None
    assert too_few(4, "requests") == "n=4: an interval needs 5 requests"


def test_a_ratio_is_resampled_by_units_not_by_parts() -> None:
    """Two kinds of units: 1 of 1 and 0 of 9. The ratio is 0.1; resampled parts would say 0.1 ± little."""
    numerators, denominators = np.array([1.0, 0.0] * 20), np.array([1.0, 9.0] * 20)
    interval = ratio_interval(numerators, denominators, 0)
    assert interval is not None
    low, high = interval
    assert low < 0.08 and high > 0.14


def test_resamples_without_a_denominator_are_left_out() -> None:
    interval = ratio_interval(np.array([1.0, 0, 0, 0, 0]), np.array([1.0, 0, 0, 0, 0]), 0)
    assert interval == (1.0, 1.0)
    assert ratio_interval(np.zeros(6), np.zeros(6), 0) is None


def test_large_samples_are_resampled_in_pieces() -> None:
    values = np.random.default_rng(3).normal(10, 1, size=30_000)
    interval = mean_interval(values, 0)
    assert interval is not None
    assert interval[1] - interval[0] == pytest.approx(2 * 1.96 / 30_000**0.5, rel=0.2)


def test_intervals_of_means_cover() -> None:
    random = np.random.default_rng(4)
    held = 0
    for seed in range(400):
        interval = mean_interval(random.normal(5, 1, size=60), seed)
        assert interval is not None
        held += interval[0] <= 5 <= interval[1]
    assert held / 400 >= 0.95 - 3 * (0.05 * 0.95 / 400) ** 0.5 - 0.01  # percentile bootstrap: 94 % at n=60
