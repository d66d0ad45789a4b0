import math

import numpy as np
import pytest

from paretoken.search.space import Axis, Tree
from paretoken.search.step_time import (
    DEVIATION_SD,
    EFFECT_SD,
    INTERACTION_SHARE,
    LEAST_EFFECT_SD,
    NOISE_RUNS,
    NOISE_SD,
    LinearModel,
    Run,
    Vector,
    noise_of,
)

TWO = Tree((Axis("a", (0, 1), "service"), Axis("b", (0, 1), "service")))  # (0,0) (0,1) (1,0) (1,1)
LOOK = (0.0, 0.05)


def test_the_prior_by_hand() -> None:
    model = LinearModel(TWO, {("a", 1): (0.5, 0.2), ("b", 1): (-0.1, 0.1)})
    assert model.mean == pytest.approx([0.0, -0.1, 0.5, 0.4])
    both = 0.2**2 + 0.1**2 + INTERACTION_SHARE**2 * 0.2 * 0.1
    expected = [
        [0, 0, 0, 0],
        [0, 0.01, 0, 0.01],
        [0, 0, 0.04, 0.04],
        [0, 0.01, 0.04, both],
    ]
    assert model.covariance == pytest.approx(np.array(expected) + DEVIATION_SD**2 * np.eye(4))


def test_a_silent_prior_is_wide_and_a_sure_one_not_too_sure() -> None:
    model = LinearModel(TWO, {("a", 1): (0.5, 0.0)})
    assert model.mean == pytest.approx([0.0, 0.0, 0.5, 0.5])
    assert np.diag(model.covariance)[1:3] == pytest.approx(
        [EFFECT_SD**2 + DEVIATION_SD**2, LEAST_EFFECT_SD**2 + DEVIATION_SD**2]
    )


def test_without_runs_the_prior_and_with_one_run_its_level() -> None:
    model = LinearModel(TWO, {("a", 1): (0.5, 0.2)})
    assert model.after([]).mean == pytest.approx(model.mean)
    belief = model.after([Run(0, math.log(40))])
    assert belief.mean == pytest.approx(math.log(40) + model.mean)
    assert belief.sd[0] == pytest.approx(NOISE_SD, rel=0.01)
    assert belief.sd[2] > 0.2


def test_two_points_by_hand() -> None:
    """With a level as good as unknown, the effect's posterior is the weighted mean of prior and difference."""
    model = LinearModel(Tree((Axis("a", (0, 1), "service"),)), {("a", 1): (0.5, 0.2)})
    belief = model.after([Run(0, 1.0), Run(1, 1.3)])
    unexplained = 2 * DEVIATION_SD**2 + 2 * belief.noise_sd**2
    signal = 0.2**2 + 2 * DEVIATION_SD**2
    share = signal / (0.2**2 + unexplained)
    assert belief.mean[1] - belief.mean[0] == pytest.approx(0.5 + share * (0.3 - 0.5), abs=1e-4)


def test_many_runs_find_additive_effects_at_points_that_were_not_run() -> None:
    axes = tuple(Axis(name, (0, 1, 2), "service") for name in "abc")
    tree = Tree(axes)
    effects = {"a": (0.0, 0.3, -0.2), "b": (0.0, 0.1, 0.4), "c": (0.0, -0.5, 0.2)}
    rates = [3.0 + sum(effects[name][int(point[name])] for name in "abc") for point in tree.points()]
    run = list(range(0, 27, 2))
    belief = LinearModel(tree, {}).after([Run(at, rates[at]) for at in run for _ in range(3)])
    assert belief.mean == pytest.approx(rates, abs=0.05)


def test_noise_is_the_stated_value_while_runs_agree_with_it_and_rises_with_repeats_that_do_not() -> None:
    assert noise_of(np.zeros((1, 1)), np.zeros(1)) < NOISE_SD * 1.05
    draws = np.random.default_rng(0).normal(0.0, 0.2, size=400)
    assert noise_of(np.zeros((400, 400)), draws) == pytest.approx(0.2, rel=0.1)
    two = noise_of(np.zeros((2, 2)), np.array([-0.1, 0.1]))
    assert two == pytest.approx(math.sqrt((NOISE_RUNS * NOISE_SD**2 + 0.02) / (NOISE_RUNS + 2)), rel=0.1)


def test_noise_leaves_out_what_the_terms_explain_and_keeps_what_they_do_not() -> None:
    apart = np.array([-0.5, 0.5, -0.5, 0.5])  # two points, twice each: they differ, and their repeats agree
    one_each: Vector = np.kron(np.ones((2, 2)), np.eye(2)).astype(np.float64)
    assert noise_of(one_each, apart) <= NOISE_SD
    assert noise_of(0.001 * one_each, apart) > 0.2


def test_a_rough_hour_weakens_what_one_lucky_run_says() -> None:
    model = LinearModel(TWO, {("a", 1): LOOK, ("b", 1): LOOK})
    calm = model.after([Run(0, 1.0), Run(0, 1.02), Run(0, 0.98), Run(2, 1.2)])
    rough = model.after([Run(0, 1.0), Run(0, 1.5), Run(0, 0.5), Run(2, 1.2)])
    assert rough.noise_sd > 2 * calm.noise_sd
    assert rough.mean[2] - rough.mean[0] < calm.mean[2] - calm.mean[0]
