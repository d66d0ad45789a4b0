"""Optuna's tree-structured Parzen estimator, told our history and asked for one more point; whole runs.

Optuna is imported only here and only when this strategy is built (the extra `search`). Its study is rebuilt from the
history at every ask with a seed that follows from the problem and the history's length, so it keeps nothing either.
"""

import math
from collections.abc import Sequence
from random import Random as Generator
from typing import Any

from paretoken.errors import MissingExtraError
from paretoken.search.base import FULL, Ask, Problem, Told, askable, fastest, out_of_trials, rates
from paretoken.search.space import Option, Point

STARTUP = 5  # random runs before the estimator speaks; Optuna's own 10 would be a small search's whole budget
TRIES = 30  # points that it may propose in vain (run already, or not allowed) before one is drawn


class Tpe:
    name = "tpe"

    def __init__(self, problem: Problem) -> None:
        try:
            import optuna
        except ImportError as error:
            raise MissingExtraError("the strategy tpe", "search") from error
        self.problem = problem
        self._optuna: Any = optuna
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._choices = {axis.name: optuna.distributions.CategoricalDistribution(axis.options) for axis in self._axes}

    def ask(self, history: Sequence[Told]) -> Ask | None:
        run = {told.point for told in history}
        left = [point for point in askable(self.problem.tree, history) if point not in run]
        if out_of_trials(self.problem, history) or not left:
            return None
        seed = (self.problem.seed * 1_000_003 + len(history)) % 2**32
        proposed = self._proposed(history, frozenset(left), seed)
        return Ask(proposed or Generator(seed).choice(left), FULL)

    def best(self, history: Sequence[Told]) -> Point | None:
        return fastest(rates(self.problem.tree, history))

    @property
    def _axes(self) -> Sequence[Any]:
        return self.problem.tree.axes

    def _proposed(self, history: Sequence[Told], left: frozenset[Point], seed: int) -> Point | None:
        optuna, states = self._optuna, self._optuna.trial.TrialState
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        for told in history:
            options, value = told.point.as_json(), told.value
            study.add_trial(
                optuna.trial.create_trial(
                    # A failed run is pruned to Optuna, not failed: it ranks last, where a failed trial is ignored.
                    state=states.PRUNED if value is None else states.COMPLETE,
                    value=None if value is None else math.log(value),
                    params=options,
                    distributions={name: self._choices[name] for name in options},
                )
            )
        for _ in range(TRIES):
            trial = study.ask()
            chosen: dict[str, Option] = {}
            for axis in self._axes:
                if axis.exists(chosen):
                    chosen[axis.name] = trial.suggest_categorical(axis.name, axis.options)
            point = Point.of(chosen)
            if point in left:
                return point
            study.tell(trial, state=states.FAIL)
        return None
