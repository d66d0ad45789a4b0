"""Ours: believe the roofline a little, look shortly at what may be best, repeat only what decides who is.

The first run is the point that the prior likes best. Then a Bayesian model of the rate (search/step_time.py) and the
same model of the seconds choose run after run by expected gain a second (search/racing.py): a point is looked at with
half a run, and again only while that may change who is best. All runs are of one length: a wave of requests that fills
and drains is slower than two, and the first whole run would make its point the best. A point that failed is never asked
again, a refused model takes all its points along, and points that share options with a failed one become less likely.
A technique has to pay: of points that are alike the one with the fewest is taken, and looked at before the search ends.
"""

import math
from collections.abc import Sequence

import numpy as np

from paretoken.search.base import (
    COMPLETE,
    HALF,
    INTERRUPTED,
    REFUSED,
    Ask,
    Problem,
    Told,
    askable,
    barred,
    out_of_trials,
)
from paretoken.search.racing import Offer, choice, likeness, success_of
from paretoken.search.space import Option, Point, Tree
from paretoken.search.step_time import Belief, LinearModel, Run, Vector

SAME = 0.03  # in log rate: the decision rule's margin; who is not further below the best is as good for a search
MOST_RUNS = 6  # of one point: two that still look alike then are alike for a search, and the finals decide


def _differences(tree: Tree) -> Vector:
    """In how many axes each two points differ: by numbers, since thousands of points have millions of pairs."""
    points = tree.points()
    found = np.zeros((len(points), len(points)))
    for axis in tree.axes:
        options = {option: place for place, option in enumerate(axis.options)}
        chosen = np.array([options[point[axis.name]] if axis.name in point else -1 for point in points])
        found += chosen[:, None] != chosen[None, :]
    return found


class Racing:
    name = "racing"

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        points = problem.tree.points()
        self._at = {point: at for at, point in enumerate(points)}
        self._rate = LinearModel(problem.tree, problem.prior)
        slower = {key: (-mean, sd) for key, (mean, sd) in problem.prior.items()}  # work is the same, so time is 1/rate
        self._cost = LinearModel(problem.tree, slower)
        self._alike = likeness(_differences(problem.tree))

    def ask(self, history: Sequence[Told]) -> Ask | None:
        able = askable(self.problem.tree, history)
        if out_of_trials(self.problem, history) or not able:
            return None
        belief = self._belief(history)
        succeeds = success_of(self._alike, self._outcomes(history))
        known = self._known(history)
        if not known:
            hoped = belief.mean + np.log(succeeds)
            return Ask(max(able, key=lambda point: float(hoped[self._at[point]])), HALF)
        chosen = choice(belief, self._offers(able, history), sorted(self._at[point] for point in known), succeeds)
        if chosen is not None:
            return Ask(self.problem.tree.points()[chosen.at], HALF)
        simpler = self._simpler(belief, known, [point for point in able if point not in known])
        return None if simpler is None else Ask(simpler, HALF)

    def best(self, history: Sequence[Told]) -> Point | None:
        """Of the points that were run and lie less than the margin below the highest posterior mean, the one with the
        fewest techniques: a tie goes to the simpler."""
        mean, known = self._belief(history).mean, self._known(history)
        top = max((float(mean[self._at[point]]) for point in known), default=0.0)
        alike = [point for point in known if mean[self._at[point]] >= top - SAME]
        return min(alike, key=lambda p: (len(self._techniques(p)), -mean[self._at[p]]), default=None)

    def _simpler(self, belief: Belief, known: Sequence[Point], unknown: Sequence[Point]) -> Point | None:
        """The likeliest point that has some of the techniques of the best alone, is expected to be as good, and was
        never run: only who was run can be taken."""
        best = max(known, key=lambda point: float(belief.mean[self._at[point]]))
        least = belief.mean[self._at[best]] - SAME
        inside = [point for point in unknown if self._techniques(point) < self._techniques(best)]
        alike = [point for point in inside if belief.mean[self._at[point]] >= least]
        return max(alike, key=lambda point: float(belief.mean[self._at[point]]), default=None)

    def _techniques(self, point: Point) -> frozenset[tuple[str, Option]]:
        default = {axis.name: axis.default for axis in self.problem.tree.axes}
        return frozenset((name, option) for name, option in point.pairs if option != default[name])

    def _belief(self, history: Sequence[Told]) -> Belief:
        return self._rate.after([Run(self._at[t.point], math.log(t.value)) for t in history if t.value is not None])

    def _known(self, history: Sequence[Told]) -> list[Point]:
        """The points with a complete run that may be taken."""
        closed = barred(self.problem.tree, history)
        return list(dict.fromkeys(t.point for t in history if t.state == COMPLETE and t.point not in closed))

    def _outcomes(self, history: Sequence[Told]) -> list[tuple[int, bool]]:
        """Whose run worked. A refusal is about the answers, an interruption about the user: neither counts."""
        return [(self._at[t.point], t.state == COMPLETE) for t in history if t.state not in (REFUSED, INTERRUPTED)]

    def _offers(self, able: Sequence[Point], history: Sequence[Told]) -> list[Offer]:
        cost = self._cost.after(
            [Run(self._at[t.point], math.log(t.seconds)) for t in history if t.value is not None and t.seconds]
        )
        runs = {point: sum(t.point == point and t.state == COMPLETE for t in history) for point in able}
        return [
            Offer(self._at[point], math.exp(float(cost.mean[self._at[point]])))
            for point in able
            if runs[point] < MOST_RUNS
        ]
