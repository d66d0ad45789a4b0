"""How a search is talked to: it is told the history of runs and answers with the next one, or with None when done.

A strategy is a class that is built from a Problem and registered by name (search/__init__.py, or the entry-point group
`paretoken.strategy`). It keeps nothing between two calls: its answers are functions of the problem and the history
alone, so a search that was killed goes on by reading its file. tests/search/conformance.py holds for every strategy.
Also here: what every strategy must respect, whatever it prefers (a failed point is not asked again and is never best).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from paretoken.errors import UsageError
from paretoken.search.space import Option, Point, Tree

COMPLETE = "complete"
REFUSED = "refused"  # its behaviour changed: so has that of every point with those model-level changes
INTERRUPTED = "interrupted"  # ended by the user: says nothing about the point
FAILED_STATES = ("infeasible", "crashed", "timeout", REFUSED)
STATES = (COMPLETE, *FAILED_STATES, INTERRUPTED)

FULL = 1.0
HALF = 0.5


@dataclass(frozen=True, slots=True)
class Ask:
    """What to run next; `effort` in (0, 1] is the share of a full run's requests."""

    point: Point
    effort: float


@dataclass(frozen=True, slots=True)
class Told:
    """What came of it. `value` is a rate, more is better, None unless complete; `seconds` is what the run cost."""

    point: Point
    effort: float
    state: str
    value: float | None
    seconds: float

    def __post_init__(self) -> None:
        if self.state not in STATES:
            raise UsageError(f"'{self.state}' is not a state of a run; there are: {', '.join(STATES)}")
        rated = self.value is not None and math.isfinite(self.value) and self.value > 0
        if rated != (self.state == COMPLETE):
            raise UsageError(f"a run is complete when it has a positive rate: {self.state} with {self.value}")
        if not (0 < self.effort <= 1 and math.isfinite(self.seconds) and self.seconds >= 0):
            raise UsageError(f"effort {self.effort} or {self.seconds} seconds of a run make no sense")

    def as_json(self) -> dict[str, Any]:
        return {
            "point": self.point.as_json(),
            "effort": self.effort,
            "state": self.state,
            "value": self.value,
            "seconds": self.seconds,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Told":
        point = Point.from_json(document["point"])
        return cls(point, document["effort"], document["state"], document["value"], document["seconds"])


@dataclass(frozen=True)
class Problem:
    """What is searched. `prior`: the log-effect of an option on the rate against its axis's default that is expected
    before anything ran, and its standard deviation. `trials`: the most runs, None for as many as the strategy likes."""

    tree: Tree
    prior: Mapping[tuple[str, Option], tuple[float, float]]
    seed: int
    trials: int | None = None


class Strategy(Protocol):
    name: str

    def __init__(self, problem: Problem) -> None: ...

    def ask(self, history: Sequence[Told]) -> Ask | None:
        """The next run; None when done."""

    def best(self, history: Sequence[Told]) -> Point | None:
        """The point to take, among those with a complete run and no failed one; None where there is none."""


def out_of_trials(problem: Problem, history: Sequence[Told]) -> bool:
    """What took no time was no run: it was known not to work, or could not be made."""
    return problem.trials is not None and sum(told.seconds > 0 for told in history) >= problem.trials


def barred(tree: Tree, history: Sequence[Told]) -> frozenset[Point]:
    """The points that failed, and those whose model changed as much as a refused one: the same model-level options as
    it has, and perhaps more (a rounded cache does not give rounded weights their answers back)."""
    refused = [_changes(tree, told.point) for told in history if told.state == REFUSED]
    failed = {told.point for told in history if told.state in FAILED_STATES}
    if not refused:
        return frozenset(failed)
    changed = ((point, _changes(tree, point)) for point in tree.points())
    return frozenset(failed | {point for point, changes in changed if any(one <= changes for one in refused)})


def _changes(tree: Tree, point: Point) -> frozenset[tuple[str, Option]]:
    """The model-level options that are not the model's as given; of the model as given itself, all of them, since
    whoever refuses that has refused nothing else."""
    level, given = set(tree.model_level(point).pairs), set(tree.model_level(tree.default).pairs)
    return frozenset(level - given or level)


def askable(tree: Tree, history: Sequence[Told]) -> list[Point]:
    """The points that may be asked, in the tree's order. One that was interrupted is left alone too: who wants it
    run again leaves the interrupted run out of the history."""
    closed = barred(tree, history) | {told.point for told in history if told.state == INTERRUPTED}
    return [point for point in tree.points() if point not in closed]


def rates(tree: Tree, history: Sequence[Told]) -> dict[Point, float]:
    """Each eligible point's geometric mean rate over its complete runs, a run counting by its effort."""
    closed = barred(tree, history)
    sums: dict[Point, tuple[float, float]] = {}
    for told in history:
        if told.value is not None and told.point not in closed:
            weight, total = sums.get(told.point, (0.0, 0.0))
            sums[told.point] = weight + told.effort, total + told.effort * math.log(told.value)
    return {point: math.exp(total / weight) for point, (weight, total) in sums.items()}


def fastest(rated: Mapping[Point, float]) -> Point | None:
    """The point with the highest rate, the earlier one where two are equal."""
    return max(rated, key=lambda point: rated[point], default=None)
