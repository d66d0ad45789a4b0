"""What the runs so far say about every point: a Bayesian linear model of a logarithm, for the rate and for the seconds.

    log y(point) = level + Σ effect(axis's option) + Σ interaction(two options) + the point's own deviation
    log of a run = log y(point) + noise

Every term is Gaussian, so the answer is: a mean and a covariance over all points, from a prior of the same kind (the
roofline's word on each option: it orders, it does not judge). A default option has no effect; the effects of all
others are against it. Noise is estimated from what the terms leave unexplained, repeats included, pulled to a stated
value while there are few runs: in a rough hour runs scatter two or three times as much, and a search that does not see
that takes its first lucky run for the truth.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from paretoken.search.space import Option, Tree

Vector = NDArray[np.float64]

LEVEL_SD = 3.0  # of the level around the first runs: as good as unknown
EFFECT_SD = 0.25  # of the log-effect of an option that the prior says nothing about
LEAST_EFFECT_SD = 0.05  # however sure a prior is: it orders, and one or two runs must be able to contradict it
INTERACTION_SHARE = 0.25  # sd of an interaction, of the geometric mean of its two effects' sd
DEVIATION_SD = 0.02  # of what only this very point does
NOISE_SD = 0.07  # of one run's log, until runs say otherwise
NOISE_RUNS = 8  # how many runs that stated noise counts for
NOISES = NOISE_SD * np.geomspace(0.5, 6.0, 26)  # what is considered: beyond 40 % a run says nothing


@dataclass(frozen=True, slots=True)
class Run:
    """One observation of a point, by its place in the tree's order."""

    at: int
    log_value: float


@dataclass(frozen=True, slots=True)
class Belief:
    """Mean and covariance of log y over the tree's points, after the runs."""

    mean: Vector
    covariance: Vector
    noise_sd: float

    @property
    def sd(self) -> Vector:
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


@dataclass(frozen=True)
class LinearModel:
    """The prior over a tree's points. A run of another length would be another rate: all of one model's are alike."""

    tree: Tree
    prior: Mapping[tuple[str, Option], tuple[float, float]]
    mean: Vector = field(init=False)
    covariance: Vector = field(init=False)

    def __post_init__(self) -> None:
        mean, covariance = _prior_over(self.tree, self.prior)
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "covariance", covariance)

    def after(self, runs: Sequence[Run]) -> Belief:
        """What is believed of every point after these runs; without any, the prior around 0."""
        if not runs:
            return Belief(self.mean, self.covariance + LEVEL_SD**2, NOISE_SD)
        at = np.array([run.at for run in runs])
        rest = np.array([run.log_value for run in runs]) - self.mean[at]
        level = float(rest.mean())  # the level's prior lies here: it is as good as unknown
        over_points = self.covariance + LEVEL_SD**2
        noise_sd = noise_of(over_points[np.ix_(at, at)], rest - level)
        over_runs = over_points[np.ix_(at, at)] + noise_sd**2 * np.eye(len(at))
        gain = np.linalg.solve(over_runs, over_points[at]).T
        mean = self.mean + level + gain @ (rest - level)
        return Belief(mean, over_points - gain @ over_points[at], noise_sd)


def noise_of(expected: Vector, rest: Vector) -> float:
    """The likeliest sd of a run's log. `expected`: the runs' covariance without noise, by the terms' prior; `rest`: the
    runs' logs without the prior's mean, shape (n,). The stated value has the weight of NOISE_RUNS runs."""
    spread, turned = np.linalg.eigh(expected)
    squares = (turned.T @ rest) ** 2
    variance = np.maximum(spread, 0.0)[None, :] + (NOISES**2)[:, None]
    misfit = np.sum(np.log(variance) + squares / variance, axis=1)
    stated = NOISE_RUNS * (2 * np.log(NOISES) + NOISE_SD**2 / NOISES**2)
    return float(NOISES[int(np.argmin(misfit + stated))])


def _prior_over(tree: Tree, prior: Mapping[tuple[str, Option], tuple[float, float]]) -> tuple[Vector, Vector]:
    """Mean and covariance over the points, without the level. Two points share the effects of the options that they
    share, and an interaction where they share both of its options."""
    switched = [(axis.name, option) for axis in tree.axes for option in axis.options[1:]]
    has = np.array([[float(p.get(name) == option) for name, option in switched] for p in tree.points()])
    has = has.reshape(len(tree.points()), len(switched))
    means = np.array([prior.get(key, (0.0, EFFECT_SD))[0] for key in switched])
    sds = np.array([max(LEAST_EFFECT_SD, prior.get(key, (0.0, EFFECT_SD))[1]) for key in switched])
    once, twice = (has * sds) @ has.T, (has * sds**2) @ has.T
    # Σ over pairs of shared options of sd·sd, by (Σ sd)² = Σ sd² + 2 Σ pairs.
    interactions = INTERACTION_SHARE**2 * (once**2 - twice) / 2
    return has @ means, twice + interactions + DEVIATION_SD**2 * np.eye(len(has))
