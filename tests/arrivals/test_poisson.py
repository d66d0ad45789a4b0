"""The Poisson process: a table of moments, its order, its rate, and that it is a pure function."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoken.arrivals.base import Arrivals
from paretoken.arrivals.poisson import Poisson
from paretoken.errors import UsageError


def moments(process: Arrivals, count: int) -> list[float]:
    found = [process.due_s(index) for index in range(count)]
    assert all(moment is not None for moment in found)
    return [moment for moment in found if moment is not None]


# Written down once: a change of these numbers would silently change every stored Poisson run.
TABLE = {
    (1.0, 0): [1.860607111, 3.279236264, 3.82494941, 4.124591722, 4.840546472],
    (8.0, 7): [0.048914356, 0.069354163, 0.200916115, 0.210315339, 0.306267396],
}


@pytest.mark.parametrize(("setting", "expected"), TABLE.items())
def test_the_moments_of_a_seed_are_fixed(setting: tuple[float, int], expected: list[float]) -> None:
    assert moments(Poisson(*setting), 5) == pytest.approx(expected, abs=1e-9)


@given(st.integers(0, 2**32), st.floats(1e-3, 1e6))
def test_moments_are_positive_and_strictly_increase(seed: int, rate_per_s: float) -> None:
    found = moments(Poisson(rate_per_s, seed), 200)
    assert found[0] > 0
    assert all(a < b for a, b in itertools.pairwise(found))


def test_a_moment_does_not_depend_on_what_was_asked_before() -> None:
    in_order = moments(Poisson(8.0, 5), 700)
    fresh = Poisson(8.0, 5)
    assert [fresh.due_s(index) for index in (699, 3, 130, 0)] == [in_order[index] for index in (699, 3, 130, 0)]


def test_a_seed_has_one_pattern_that_the_rate_only_scales() -> None:
    slow, fast = moments(Poisson(2.0, 9), 50), moments(Poisson(8.0, 9), 50)
    assert fast == pytest.approx([moment / 4 for moment in slow])
    assert moments(Poisson(2.0, 10), 50) != slow


def test_the_mean_rate_and_the_spread_of_gaps_are_those_of_a_poisson_process() -> None:
    found = moments(Poisson(10.0, 1), 20_000)
    gaps = [b - a for a, b in itertools.pairwise(found)]
    mean = sum(gaps) / len(gaps)
    deviation = math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / len(gaps))
    assert mean == pytest.approx(0.1, rel=0.03)
    assert deviation / mean == pytest.approx(1.0, rel=0.03)  # an exponential's coefficient of variation
    assert sum(gap > 0.1 for gap in gaps) / len(gaps) == pytest.approx(math.exp(-1), abs=0.01)


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_a_rate_must_be_positive(rate: float) -> None:
    with pytest.raises(UsageError, match="rate"):
        Poisson(rate, 0)


def test_an_open_loop_has_no_slots() -> None:
    assert Poisson(1.0, 0).concurrency is None
    with pytest.raises(ValueError, match="index"):
        Poisson(1.0, 0).due_s(-1)
