"""How near the best does each strategy come for how much time? Replays recorded grids, 20 seeds each.

    .venv/bin/python benchmarks/search_quality.py [--seeds 20]

A recorded grid (docs/results/grid-8-streams.json, grid-1-streams.json) has every point run three times on the real
engine, and the best of them re-measured. An ask draws one of the point's recorded runs at random, without replacement
until all were drawn: half a run reads the record's first half, and each costs the seconds that it really took, its
start and warm-up included. Nothing is measured here. A budget is a share of the time of one pass over the grid; what
its end cuts off does not count. Constants were tuned on the 8-stream grid alone; the 1-stream grid is the test. A third
table replays the first grid as a rough hour of a shared machine: noise is added to every run.
"""

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from random import Random
from statistics import fmean, median
from typing import Any

import numpy as np

from paretoken.errors import CaptureError
from paretoken.metrics.bootstrap import ratio_interval
from paretoken.search import STRATEGIES
from paretoken.search.base import COMPLETE, FULL, Ask, Problem, Strategy, Told
from paretoken.search.space import Axis, Constraint, Option, Point, Tree

RESULTS = Path(__file__).parents[1] / "docs" / "results"
GRIDS = ("grid-8-streams.json", "grid-1-streams.json")
TUNED_ON = 8  # streams
ORDER = ("random", "grid", "halving", "tpe", "racing")
BUDGETS = (0.05, 0.10, 0.15, 0.25, 0.50)
NEAR = 0.03  # regret that the decision rule's margin would call the same
ROUGH_SD = 0.2  # added to a run's log rate in the rough hour; studies of bad hours show as much
LONGEST = 1.2  # passes; who has not stopped by then does not stop by itself


@dataclass(frozen=True)
class Grid:
    """`rates` and `seconds`: of each recorded run, half then whole. A point that failed has no rates."""

    streams: int
    tree: Tree
    prior: Mapping[tuple[str, Option], tuple[float, float]]
    states: Mapping[Point, str]
    rates: Mapping[Point, Sequence[tuple[float, float]]]
    seconds: Mapping[Point, Sequence[tuple[float, float]]]
    means: Mapping[Point, float]
    added_sd: float = 0.0  # of noise added to each run's log rate

    @cached_property
    def pass_s(self) -> float:
        """One whole run of every point."""
        return sum(fmean(whole for _, whole in runs) for runs in self.seconds.values())

    @cached_property
    def best(self) -> Point:
        return max(self.means, key=lambda point: self.means[point])

    def regret(self, chosen: Point | None) -> float:
        """Against the best point's mean; who chose nothing is left with the default."""
        return 1 - self.means.get(chosen or self.tree.default, 0.0) / self.means[self.best]

    def noise_sd(self) -> float:
        """Of a whole run's log rate, from each point's own runs."""
        logs = [[math.log(whole) for _, whole in runs] for runs in self.rates.values() if len(runs) > 1]
        freedom = sum(len(values) - 1 for values in logs)
        return math.sqrt(sum(float(np.var(values)) * len(values) for values in logs) / freedom) if freedom else 0.0


def read_grid(document: Mapping[str, Any]) -> Grid:
    """A recorded grid. Raises CaptureError where it records a point that its axes do not make."""
    recorded = {Point.from_json(entry["point"]): entry for entry in document["points"]}
    again = {Point.from_json(entry["point"]): entry["runs"] for entry in document.get("top", [])}
    axes = tuple(
        Axis(a["name"], tuple(a["options"]), a["level"], tuple((n, tuple(o)) for n, o in a.get("only_if", [])))
        for a in document["axes"]
    )
    tree = Tree(axes, (Constraint("recorded", lambda point: point in recorded, "it was not recorded"),))
    if set(tree.points()) != set(recorded):
        strange = next(point for point in recorded if point not in tree.points())
        raise CaptureError(f"the grid records {strange.key}, which its axes and their 'only_if' do not make")
    complete = [point for point, entry in recorded.items() if entry["state"] == COMPLETE]
    seconds = {point: [_seconds(run) for run in entry["runs"]] for point, entry in recorded.items() if entry["runs"]}
    usual = tuple(median(run[half] for runs in seconds.values() for run in runs) for half in (0, 1))
    return Grid(
        streams=document["streams"],
        tree=tree,
        prior={(axis, option): (mean, sd) for axis, option, mean, sd in document["prior"]},
        states={point: entry["state"] for point, entry in recorded.items()},
        rates={point: [_rates(run) for run in recorded[point]["runs"]] for point in complete},
        # Of a failed run that recorded no time, the usual time is lost.
        seconds={point: seconds.get(point, [(usual[0], usual[1])]) for point in recorded},
        means={p: fmean(_rates(run)[1] for run in again.get(p, recorded[p]["runs"])) for p in complete},
    )


def _rates(run: Mapping[str, Any]) -> tuple[float, float]:
    return run["halves"][0]["output_tok_s"], run["halves"][-1]["output_tok_s"]


def _seconds(run: Mapping[str, Any]) -> tuple[float, float]:
    before, halves = run["start_s"] + run["warmup_s"], run["halves"] or [{"seconds": 0.0}]
    return before + halves[0]["seconds"], before + halves[-1]["seconds"]


class Replay:
    """Answers asks from the record: a point's runs in an order of the seed, shuffled anew when all were drawn."""

    def __init__(self, grid: Grid, seed: int) -> None:
        self.grid = grid
        self._random = Random(seed)
        self._left: dict[Point, list[int]] = {}

    def run(self, ask: Ask) -> Told:
        point, half = ask.point, int(ask.effort == FULL)
        if not self._left.get(point):
            self._left[point] = self._random.sample(range(len(self.grid.seconds[point])), len(self.grid.seconds[point]))
        drawn = self._left[point].pop()
        state = self.grid.states[point]
        rate = self.grid.rates[point][drawn][half] if state == COMPLETE else None
        if rate is not None and self.grid.added_sd:
            rate *= math.exp(self._random.gauss(0.0, self.grid.added_sd))
        return Told(point, ask.effort, state, rate, self.grid.seconds[point][drawn][half])


@dataclass(frozen=True, slots=True)
class Played:
    """One search: its regret at each budget and at its end, when it ended, and whether by itself."""

    regrets: tuple[float, ...]
    end_regret: float
    end_share: float
    runs: int
    stopped: bool


def play(grid: Grid, strategy: Strategy, seed: int) -> Played:
    replay, history, ends_s = Replay(grid, seed), list[Told](), list[float]()
    spent_s, stopped = 0.0, False
    while spent_s <= LONGEST * grid.pass_s:
        ask = strategy.ask(history)
        if ask is None:
            stopped = True
            break
        history.append(replay.run(ask))
        spent_s += history[-1].seconds
        ends_s.append(spent_s)
    in_time = [sum(end_s <= share * grid.pass_s for end_s in ends_s) for share in BUDGETS]
    regrets = tuple(grid.regret(strategy.best(history[:count])) for count in in_time)
    return Played(regrets, grid.regret(strategy.best(history)), spent_s / grid.pass_s, len(history), stopped)


def judged(grid: Grid, name: str, seeds: int) -> dict[str, Any]:
    """One strategy's row of the result."""
    strategy = STRATEGIES.load(name)
    played = [play(grid, strategy(Problem(grid.tree, grid.prior, seed)), seed) for seed in range(seeds)]
    stopped = [p for p in played if p.stopped]
    return {
        "strategy": name,
        "budgets": [
            {"share_of_a_pass": share, **_figures([p.regrets[at] for p in played])} for at, share in enumerate(BUDGETS)
        ],
        "stops_by_itself": {
            "share_of_seeds": len(stopped) / seeds,
            "share_of_a_pass": fmean(p.end_share for p in stopped) if stopped else None,
            "runs": fmean(p.runs for p in stopped) if stopped else None,
            **(_figures([p.end_regret for p in stopped]) if stopped else {}),
        },
    }


def _figures(regrets: Sequence[float]) -> dict[str, Any]:
    interval = ratio_interval(np.array(regrets), np.ones(len(regrets)), seed=0)
    return {
        "regret": {"value": fmean(regrets), "ci95": None if interval is None else list(interval)},
        "share_within_3_percent": fmean(regret <= NEAR for regret in regrets),
    }


def judged_grid(grid: Grid, seeds: int) -> dict[str, Any]:
    return {
        "streams": grid.streams,
        "tuned_on": grid.streams == TUNED_ON,
        "points": len(grid.states),
        "complete": len(grid.means),
        "pass_s": grid.pass_s,
        "noise_sd": grid.noise_sd(),
        "added_noise_sd": grid.added_sd,
        "best": {"point": grid.best.as_json(), "output_tok_s": grid.means[grid.best]},
        "default_regret": grid.regret(grid.tree.default),
        "strategies": [judged(grid, name, seeds) for name in ORDER],
    }


def table(found: Mapping[str, Any]) -> list[str]:
    """Regret in percent with the share of seeds within 3 % behind it, a row a strategy."""
    tuned = "the constants were tuned on it" if found["tuned_on"] else "nothing was tuned on it"
    added = f" and {found['added_noise_sd']:.0%} added" if found["added_noise_sd"] else ""
    lines = [
        f"{found['streams']} streams: {found['points']} points, one pass {found['pass_s'] / 60:.0f} min, a run's noise "
        f"{found['noise_sd']:.1%}{added}; {tuned}. The default is {found['default_regret']:.0%} below the best.",
        "mean regret (seeds within 3 %)".ljust(32) + "".join(f"{share:>15.0%}" for share in BUDGETS) + "   stops at",
    ]
    for row in found["strategies"]:
        cells = [f"{b['regret']['value']:.1%} ({b['share_within_3_percent']:.0%})" for b in row["budgets"]]
        stop = row["stops_by_itself"]
        end = "-" if stop["runs"] is None else f"{stop['share_of_a_pass']:.0%}, {stop['runs']:.0f} runs"
        lines.append(row["strategy"].ljust(32) + "".join(cell.rjust(15) for cell in cells) + f"   {end}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    seeds = parser.parse_args().seeds
    grids = [read_grid(json.loads((RESULTS / name).read_text())) for name in GRIDS if (RESULTS / name).exists()]
    rough = [replace(grid, added_sd=ROUGH_SD) for grid in grids if grid.streams == TUNED_ON]
    found = [judged_grid(grid, seeds) for grid in grids + rough]
    document = {
        "schema": 1,
        "command": f"benchmarks/search_quality.py --seeds {seeds}",
        "seeds": seeds,
        "tuned_on_streams": TUNED_ON,
        "regret": "1 - mean rate of the chosen point / mean rate of the best point",
        "grids": found,
    }
    for one in found:
        print("\n".join([*table(one), ""]))
    if not grids:
        raise SystemExit(f"no recorded grid in {RESULTS}: {' or '.join(GRIDS)} is needed")
    (RESULTS / "search-quality.json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
