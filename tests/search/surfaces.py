"""Simulated machines to search on: a rate for every point, noise in every run, failures where told."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from paretoken.search.base import Ask, Problem, Strategy, Told
from paretoken.search.space import Axis, Constraint, Option, Point, Tree

SMALL = Tree(
    (
        Axis("weights", ("F16", "Q8_0", "Q4_0"), "model"),
        Axis("slots", (1, 4, 8), "service"),
        Axis("speculation", ("none", "draft"), "service"),
        Axis("draft_length", (4, 8), "service", only_if=(("speculation", ("draft",)),)),
    ),
    (Constraint("memory", lambda p: not (p["slots"] == 8 and p["speculation"] == "draft"), "8 slots leave no memory"),),
)
WIDE = Tree(
    (
        Axis("weights", ("F16", "Q8_0", "Q5_0"), "model"),
        Axis("slots", (1, 4, 8), "service"),
        Axis("threads", (2, 1), "service"),
        Axis("flash_attention", (False, True), "service"),
        Axis("batch", (512, 64), "service"),
    )
)
PRIOR: dict[tuple[str, Option], tuple[float, float]] = {
    ("weights", "Q8_0"): (0.35, 0.15),
    ("weights", "Q5_0"): (0.45, 0.25),
    ("slots", 4): (0.5, 0.25),
    ("slots", 8): (0.7, 0.3),
    ("threads", 1): (-0.5, 0.2),
}


@dataclass(frozen=True)
class Surface:
    """True log rates; a run of `requests` costs its start and the requests at that rate."""

    tree: Tree
    prior: dict[tuple[str, Option], tuple[float, float]]
    log_rate: dict[Point, float]
    noise_sd: float
    seed: int

    def run(self, ask: Ask, number: int) -> Told:
        """The run with this number: the same for equal arguments."""
        draw = np.random.default_rng((self.seed, number)).standard_normal()
        rate = math.exp(self.log_rate[ask.point] + self.noise_sd / math.sqrt(ask.effort) * draw)
        return Told(ask.point, ask.effort, "complete", rate, self.seconds(ask))

    def seconds(self, ask: Ask) -> float:
        return 3.0 + 256 * ask.effort / math.exp(self.log_rate[ask.point])

    def regret(self, point: Point | None) -> float:
        chosen = self.tree.default if point is None else point
        return 1 - math.exp(self.log_rate[chosen] - max(self.log_rate.values()))

    def pass_seconds(self) -> float:
        return sum(self.seconds(Ask(point, 1.0)) for point in self.tree.points())


def surface(seed: int, *, tree: Tree = WIDE, noise_sd: float = 0.08, interaction_sd: float = 0.06) -> Surface:
    """Effects drawn around the prior (0 ± 0.1 where it is silent), an interaction for every two options, and noise."""
    draw = np.random.default_rng(seed).standard_normal
    keys = [(axis.name, option) for axis in tree.axes for option in axis.options[1:]]
    effects = {key: PRIOR.get(key, (0.0, 0.1))[0] + PRIOR.get(key, (0.0, 0.1))[1] * draw() for key in keys}
    pairs = {frozenset(pair): interaction_sd * draw() for pair in itertools.combinations(keys, 2)}
    rates = {}
    for point in tree.points():
        on = [key for key in keys if point.get(key[0]) == key[1]]
        rates[point] = math.log(40) + sum(effects[key] for key in on)
        rates[point] += sum(pairs[frozenset(pair)] for pair in itertools.combinations(on, 2)) + 0.02 * draw()
    return Surface(tree, PRIOR, rates, noise_sd, seed)


def play(strategy: Strategy, run: Callable[[Ask, int], Told], most: int) -> list[Told]:
    """Ask and tell until the strategy is done. Fails where it is not after `most` runs."""
    history: list[Told] = []
    while (ask := strategy.ask(history)) is not None:
        assert len(history) < most, "it does not end"
        history.append(run(ask, len(history)))
    return history


def play_for(strategy: Strategy, on: Surface, budget_s: float) -> Point | None:
    """What it would take after this time; a run that the end cuts off does not count."""
    history: list[Told] = []
    spent_s = 0.0
    while (ask := strategy.ask(history)) is not None:
        told = on.run(ask, len(history))
        spent_s += told.seconds
        if spent_s > budget_s:
            break
        history.append(told)
    return strategy.best(history)


def problem_of(on: Surface, trials: int | None = None) -> Problem:
    return Problem(on.tree, on.prior, on.seed, trials)
