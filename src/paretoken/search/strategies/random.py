"""Every point once, in an order drawn from the seed, whole runs. What a tuner must beat to be worth having."""

from collections.abc import Sequence
from random import Random as Generator

from paretoken.search.base import FULL, Ask, Problem, Told, askable, fastest, out_of_trials, rates
from paretoken.search.space import Point


class Random:
    name = "random"

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        points = list(problem.tree.points())
        Generator(problem.seed).shuffle(points)
        self._order = points

    def ask(self, history: Sequence[Told]) -> Ask | None:
        if out_of_trials(self.problem, history):
            return None
        left = set(askable(self.problem.tree, history)) - {told.point for told in history}
        return next((Ask(point, FULL) for point in self._order if point in left), None)

    def best(self, history: Sequence[Told]) -> Point | None:
        return fastest(rates(self.problem.tree, history))
