from statistics import mean

from paretoken.search.base import Problem, Told
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


def test_whole_runs_are_for_points_that_were_looked_at_and_no_point_gets_many() -> None:
    on = surface(1)
    seen: list[Told] = []
    for told in play(Racing(problem_of(on)), on.run, 500):
        runs = [before for before in seen if before.point == told.point]
        assert told.effort == (1.0 if runs else 0.5)
        seen.append(told)
        assert len(runs) < MOST_RUNS


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
