import math
from collections import Counter
from dataclasses import replace
from statistics import mean

from paretoken.search.base import Problem, Told
from paretoken.search.space import Point
from paretoken.search.strategies.racing import MOST_RUNS, Racing
from paretoken.search.strategies.random import Random

from ..conformance import StrategyConformance
from ..surfaces import SMALL, WIDE, play, play_for, problem_of, surface


class TestRacing(StrategyConformance):
    strategy = Racing


def test_it_starts_with_half_a_run_of_what_the_prior_likes_best() -> None:
    first = Racing(problem_of(surface(0))).ask([])
    assert first is not None
    assert first.effort == 0.5
    assert (first.point["weights"], first.point["slots"], first.point["threads"]) == ("Q5_0", 8, 2)


def test_all_runs_are_of_one_length_and_no_point_gets_many() -> None:
    """A wave of requests that fills and drains is slower than two: runs of two lengths are two rates."""
    on = surface(1)
    history = play(Racing(problem_of(on)), on.run, 500)
    assert {told.effort for told in history} == {0.5}
    assert max(Counter(told.point for told in history).values()) <= MOST_RUNS


def test_it_leaves_most_of_the_grid_alone_and_stops_by_itself() -> None:
    lengths = [len(play(Racing(problem_of(on)), on.run, 500)) for on in map(surface, range(5))]
    assert max(lengths) < len(WIDE.points()) / 2


def test_after_a_crash_it_turns_to_points_that_are_less_alike() -> None:
    on = surface(0, tree=SMALL)
    racing = Racing(problem_of(on))
    first = racing.ask([])
    assert first is not None
    second = racing.ask([Told(first.point, 0.5, "crashed", None, 3.0)])
    assert second is not None
    assert second.point != first.point


def test_less_regret_than_random_at_the_same_cost() -> None:
    """72 points, effects that are not only additive, 8 % noise, a tenth of one pass over the grid; 20 seeds."""
    ours, chance = [], []
    for on in map(surface, range(20)):
        budget_s = 0.10 * on.pass_seconds()
        ours.append(on.regret(play_for(Racing(problem_of(on)), on, budget_s)))
        chance.append(on.regret(play_for(Random(problem_of(on)), on, budget_s)))
    assert mean(ours) < 0.05 < mean(chance) / 2


def test_without_a_prior_it_still_beats_random() -> None:
    ours, chance = [], []
    for on in map(surface, range(20)):
        silent = Problem(on.tree, {}, on.seed)
        budget_s = 0.15 * on.pass_seconds()
        ours.append(on.regret(play_for(Racing(silent), on, budget_s)))
        chance.append(on.regret(play_for(Random(problem_of(on)), on, budget_s)))
    assert mean(ours) < mean(chance)


def techniques(point: Point) -> int:
    return sum(point[axis.name] != axis.default for axis in WIDE.axes)


def told_of(rates: dict[tuple[str, int, int, bool, int], float]) -> list[Told]:
    names = [axis.name for axis in WIDE.axes]
    points = {Point.from_json(dict(zip(names, options, strict=True))): rate for options, rate in rates.items()}
    return [Told(point, 0.5, "complete", rate, 5.0) for point, rate in points.items()]


def test_a_technique_has_to_pay() -> None:
    """Two per cent more for flash attention and a smaller batch are no more than the margin; 20 % for Q8_0 are."""
    history = told_of(
        {
            ("F16", 8, 2, False, 512): 80.0,
            ("Q8_0", 8, 2, False, 512): 100.0,
            ("Q8_0", 8, 2, True, 512): 101.0,
            ("Q8_0", 8, 2, True, 64): 102.0,
        }
    )
    best = Racing(Problem(WIDE, {}, 0)).best(3 * history)
    assert best is not None
    assert (best["weights"], best["flash_attention"], best["batch"]) == ("Q8_0", False, 512)


def test_before_it_ends_it_has_looked_at_the_simpler_ones_that_may_be_as_good() -> None:
    """Where nothing but slots matters, whoever the prior leads to, nothing else is taken."""
    for seed in range(5):
        on = surface(seed, noise_sd=0.005)
        flat = replace(on, log_rate={p: math.log(40 + 5 * int(str(p["slots"]))) for p in WIDE.points()})
        racing = Racing(Problem(WIDE, {("batch", 64): (0.02, 0.06), ("slots", 8): (0.5, 0.3)}, seed))
        best = racing.best(play(racing, flat.run, 500))
        assert best is not None
        assert best["slots"] == 8
        assert techniques(best) == 1
