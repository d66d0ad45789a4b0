"""Successive halving: many short runs, whole runs of the better half, repeats of the best of those; then others again.

The points are dealt into brackets in an order drawn from the seed. Comparing inside a bracket first means that there
is an answer early; the whole grid in one bracket would spend half a pass before its first whole run.
"""

from collections.abc import Sequence
from random import Random as Generator

from paretoken.search.base import FULL, HALF, Ask, Problem, Told, askable, fastest, out_of_trials, rates
from paretoken.search.space import Point

BRACKET = 8  # points
RUNGS = ((8, (HALF,)), (4, (HALF, FULL)), (2, (HALF, FULL, FULL)))  # the best so many get these runs


class Halving:
    name = "halving"

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        points = list(problem.tree.points())
        Generator(problem.seed).shuffle(points)
        self._brackets = [points[start : start + BRACKET] for start in range(0, len(points), BRACKET)]

    def ask(self, history: Sequence[Told]) -> Ask | None:
        if out_of_trials(self.problem, history):
            return None
        able = set(askable(self.problem.tree, history))
        asks = (self._ask_in(bracket, able, history) for bracket in self._brackets)
        return next((ask for ask in asks if ask is not None), None)

    def best(self, history: Sequence[Told]) -> Point | None:
        """Among the points with a whole run, where there are some: short runs only choose who gets one."""
        rated = rates(self.problem.tree, history)
        whole = {told.point for told in history if told.effort == FULL and told.point in rated}
        return fastest({point: rate for point, rate in rated.items() if point in whole or not whole})

    def _ask_in(self, bracket: Sequence[Point], able: set[Point], history: Sequence[Told]) -> Ask | None:
        ours = [told for told in history if told.point in bracket]
        left = [point for point in bracket if point in able]
        for below, (keep, efforts) in enumerate(RUNGS):
            # Who goes on is decided by the rungs below alone: a rung's own runs don't change who is on it.
            so_far = rates(self.problem.tree, [t for at, t in enumerate(ours) if _runs(t.point, ours[:at]) < below])
            left = sorted(left, key=lambda point: -so_far.get(point, 0.0))[:keep]
            for point in left:
                done = _runs(point, ours)
                if done < len(efforts):
                    return Ask(point, efforts[done])
        return None


def _runs(point: Point, history: Sequence[Told]) -> int:
    return sum(told.point == point for told in history)
