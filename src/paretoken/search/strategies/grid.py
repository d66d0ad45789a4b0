"""Every point once, in the tree's order, whole runs. The reference that a search has to beat."""

from collections.abc import Sequence

from paretoken.search.base import FULL, Ask, Problem, Told, askable, fastest, out_of_trials, rates
from paretoken.search.space import Point


class Grid:
    name = "grid"

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def ask(self, history: Sequence[Told]) -> Ask | None:
        if out_of_trials(self.problem, history):
            return None
        run = {told.point for told in history}
        return next((Ask(p, FULL) for p in askable(self.problem.tree, history) if p not in run), None)

    def best(self, history: Sequence[Told]) -> Point | None:
        return fastest(rates(self.problem.tree, history))
