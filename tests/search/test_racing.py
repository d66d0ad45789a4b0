import math

import numpy as np
import pytest

from paretoken.search.racing import LOOK, MARGIN, Offer, choice, gains, likeness, success_of
from paretoken.search.step_time import Belief


def belief(means: list[float], sds: list[float], noise_sd: float = 0.0) -> Belief:
    return Belief(np.array(means), np.diag(np.array(sds) ** 2), noise_sd)


def test_the_gain_of_an_exact_run_is_the_expected_improvement() -> None:
    """Against a known best at 0: sd·(φ(u) + u·Φ(u)) with u = (mean − margin)/sd."""
    found = gains(belief([0.0, -0.1], [0.0, 0.2]), [Offer(1, 1.0)], [0])
    u = (-0.1 - MARGIN) / 0.2
    density, below = math.exp(-(u**2) / 2) / math.sqrt(2 * math.pi), 0.5 * (1 + math.erf(u / math.sqrt(2)))
    assert found == pytest.approx([0.2 * (density + u * below)], rel=0.01)


def test_noise_shrinks_the_gain() -> None:
    offers = [Offer(1, 1.0)]
    exact = gains(belief([0.0, MARGIN], [0.0, 0.1]), offers, [0])
    noisy = gains(belief([0.0, MARGIN], [0.0, 0.1], noise_sd=0.1), offers, [0])
    assert exact[0] == pytest.approx(0.1 / math.sqrt(2 * math.pi), rel=0.01)
    assert noisy[0] == pytest.approx(exact[0] / math.sqrt(1 + 1 / LOOK), rel=0.01)


def test_a_repeat_of_the_clear_best_gains_nothing() -> None:
    assert gains(belief([1.0, 0.0], [0.05, 0.05], 0.05), [Offer(0, 1.0)], [0, 1]) == pytest.approx([0.0], abs=1e-9)


def test_a_run_of_one_that_moves_another_alike_gains_nothing_by_itself() -> None:
    covariance = np.array([[0.04, 0.04], [0.04, 0.04]])
    found = gains(Belief(np.array([0.0, -0.1]), covariance, 0.0), [Offer(1, 1.0)], [0])
    assert found == pytest.approx([0.0], abs=1e-9)


def test_the_cheaper_of_two_equal_gains_then_none() -> None:
    about = belief([0.0, 0.0, 0.0], [0.0, 0.1, 0.1])
    offers = [Offer(1, 9.0), Offer(2, 3.0)]
    assert choice(about, offers, [0], np.ones(3)) == offers[1]
    assert choice(about, offers, [0], np.array([1.0, 1.0, 0.1])) == offers[0]
    assert choice(belief([1.0, 0.0, 0.0], [0.0, 0.1, 0.1]), offers, [0], np.ones(3)) is None
    assert choice(about, [], [0], np.ones(3)) is None


def test_a_failure_counts_half_for_every_axis_that_differs() -> None:
    alike = likeness(np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]))
    before, after = success_of(alike, []), success_of(alike, [(0, False)])
    assert len(set(before.tolist())) == 1
    assert after[0] < after[1] < after[2] < before[2]
    assert success_of(alike, [(0, False), (1, True)])[1] > after[1]
