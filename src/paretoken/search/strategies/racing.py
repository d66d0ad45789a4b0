"""Ours: believe the roofline a little, look shortly at what may be best, repeat only what decides who is.

The first run is the point that the prior likes best. Then a Bayesian model of the rate (search/step_time.py) and the
same model of the seconds choose run after run by expected gain a second (search/racing.py): a point is looked at with
half a run first, and gets whole runs only while they may change who is best. A point that failed is never asked again,
a refused model takes all its points along, and points that share options with a failed one become less likely.
"""

import math
from collections.abc import Sequence

import numpy as np

from paretoken.search.base import (
    COMPLETE,
    FULL,
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
from paretoken.search.racing import Offer, choice, likeness, seconds_of, success_of
from paretoken.search.space import Point
from paretoken.search.step_time import Belief, LinearModel, Run

SHORT_RATE = (0.0, 0.05)  # what half a run does to the log rate of all points alike
SHORT_COST = (-0.4, 0.2)  # and to its log seconds: the start is not halved
MOST_RUNS = 6  # of one point: two that still look alike then are alike for a search, and the finals decide


class Racing:
    name = "racing"

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        points = problem.tree.points()
        self._at = {point: at for at, point in enumerate(points)}
        self._rate = LinearModel(problem.tree, problem.prior, SHORT_RATE)
        slower = {key: (-mean, sd) for key, (mean, sd) in problem.prior.items()}  # work is the same, so time is 1/rate
        self._cost = LinearModel(problem.tree, slower, SHORT_COST)
        self._alike = likeness(np.array([[float(len(p.differs(q))) for q in points] for p in points]))

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
        return None if chosen is None else Ask(self.problem.tree.points()[chosen.at], chosen.effort)

    def best(self, history: Sequence[Told]) -> Point | None:
        """The highest posterior mean among the points that were run."""
        mean = self._belief(history).mean
        return max(self._known(history), key=lambda point: float(mean[self._at[point]]), default=None)

    def _belief(self, history: Sequence[Told]) -> Belief:
        return self._rate.after(
            [Run(self._at[t.point], t.effort, math.log(t.value)) for t in history if t.value is not None]
        )

    def _known(self, history: Sequence[Told]) -> list[Point]:
        """The points with a complete run that may be taken."""
        closed = barred(self.problem.tree, history)
        return list(dict.fromkeys(t.point for t in history if t.state == COMPLETE and t.point not in closed))

    def _outcomes(self, history: Sequence[Told]) -> list[tuple[int, bool]]:
        """Whose run worked. A refusal is about the answers, an interruption about the user: neither counts."""
        return [(self._at[t.point], t.state == COMPLETE) for t in history if t.state not in (REFUSED, INTERRUPTED)]

    def _offers(self, able: Sequence[Point], history: Sequence[Told]) -> list[Offer]:
        cost = self._cost.after(
            [
                Run(self._at[t.point], t.effort, math.log(t.seconds))
                for t in history
                if t.value is not None and t.seconds
            ]
        )
        runs = {point: sum(t.point == point and t.state == COMPLETE for t in history) for point in able}
        efforts = {point: FULL if runs[point] else HALF for point in able if runs[point] < MOST_RUNS}
        return [
            Offer(self._at[point], effort, seconds_of(cost, self._at[point], effort, SHORT_COST[0]))
            for point, effort in efforts.items()
        ]
