"""What holds for every strategy, built in or from outside. A plugin's tests inherit `StrategyConformance`."""

import json
from typing import ClassVar

import pytest

from paretoken.search import STRATEGIES
from paretoken.search.base import COMPLETE, FAILED_STATES, INTERRUPTED, REFUSED, Ask, Problem, Strategy, Told
from paretoken.search.space import Axis, Tree

from .surfaces import SMALL, Surface, play, problem_of, surface

MOST = 10 * len(SMALL.points())


def with_failures(on: Surface) -> Surface:
    """8 slots crash, drafts of 8 time out, F16 with 4 slots misses its limit, Q4_0 is refused."""

    class Failing(Surface):
        def run(self, ask: Ask, number: int) -> Told:
            told = super().run(ask, number)
            point = ask.point
            rules = {
                REFUSED: point["weights"] == "Q4_0",
                "crashed": point["slots"] == 8,
                "timeout": point.get("draft_length") == 8,
                "infeasible": point["slots"] == 4 and point["weights"] == "F16",
            }
            state = next((state for state, holds in rules.items() if holds), COMPLETE)
            return told if state == COMPLETE else Told(point, ask.effort, state, None, told.seconds)

    return Failing(on.tree, on.prior, on.log_rate, on.noise_sd, on.seed)


class StrategyConformance:
    strategy: ClassVar[type[Strategy]]

    @pytest.fixture(params=[0, 1])
    def on(self, request: pytest.FixtureRequest) -> Surface:
        return surface(request.param, tree=SMALL)

    def make(self, on: Surface, trials: int | None = None) -> Strategy:
        return self.strategy(problem_of(on, trials))

    def test_it_is_registered_by_its_name(self) -> None:
        assert STRATEGIES.load(self.strategy.name) is self.strategy

    def test_it_ends_and_takes_a_point_that_was_run(self, on: Surface) -> None:
        history = play(self.make(on), on.run, MOST)
        assert self.make(on).best(history) in {told.point for told in history}

    def test_it_asks_only_what_is_allowed_and_never_a_failed_point_again(self, on: Surface) -> None:
        history = play(self.make(on), with_failures(on).run, MOST)
        failed, refused = set(), set()
        for told in history:
            assert on.tree.why_not(told.point) is None
            assert 0 < told.effort <= 1
            assert told.point not in failed
            assert told.point["weights"] not in refused
            if told.state in FAILED_STATES:
                failed.add(told.point)
            if told.state == REFUSED:
                refused.add(told.point["weights"])

    def test_equal_history_equal_ask_also_from_a_file(self, on: Surface) -> None:
        history = play(self.make(on), with_failures(on).run, MOST)
        read = [Told.from_json(json.loads(json.dumps(told.as_json()))) for told in history]
        assert read == history
        used = self.make(on)
        for told_so_far in range(len(history) + 1):
            fresh = self.make(on)
            ask = fresh.ask(read[:told_so_far])
            assert ask == used.ask(history[:told_so_far])
            assert fresh.best(read[:told_so_far]) == used.best(history[:told_so_far])
            if told_so_far < len(history):
                assert ask == Ask(history[told_so_far].point, history[told_so_far].effort)
            else:
                assert ask is None

    def test_a_failed_run_is_never_the_best(self, on: Surface) -> None:
        history = play(self.make(on), with_failures(on).run, MOST)
        for told_so_far in range(len(history) + 1):
            best = self.make(on).best(history[:told_so_far])
            runs = [told for told in history[:told_so_far] if told.point == best]
            assert best is None or {told.state for told in runs} == {COMPLETE}

    def test_a_point_that_fails_after_a_good_run_is_not_the_best(self, on: Surface) -> None:
        good, other = on.tree.points()[:2]
        history = [
            Told(good, 1.0, COMPLETE, 99.0, 1.0),
            Told(other, 1.0, COMPLETE, 50.0, 1.0),
            Told(good, 1.0, "crashed", None, 1.0),
        ]
        assert self.make(on).best(history[:2]) == good
        assert self.make(on).best(history) == other

    def test_a_refused_model_takes_its_other_points_along(self, on: Surface) -> None:
        first, second = [point for point in on.tree.points() if point["weights"] == "Q4_0"][:2]
        history = [Told(first, 1.0, COMPLETE, 99.0, 1.0), Told(second, 1.0, REFUSED, None, 1.0)]
        assert self.make(on).best(history) is None

    @pytest.mark.parametrize("state", [*FAILED_STATES, INTERRUPTED])
    def test_without_a_complete_run_there_is_no_best(self, on: Surface, state: str) -> None:
        strategy = self.make(on)
        history = play(strategy, lambda ask, _: Told(ask.point, ask.effort, state, None, 1.0), MOST)
        assert len({told.point for told in history}) == len(history)
        assert strategy.best(history) is None
        assert strategy.best([]) is None

    @pytest.mark.parametrize("trials", [0, 1, 5])
    def test_it_keeps_to_the_trials(self, on: Surface, trials: int) -> None:
        assert len(play(self.make(on, trials), on.run, trials)) <= trials

    def test_a_tree_of_one_point_is_run_and_taken(self) -> None:
        tree = Tree((Axis("slots", (1,), "service"),))
        strategy = self.strategy(Problem(tree, {}, 0))
        history = play(strategy, lambda ask, _: Told(ask.point, ask.effort, COMPLETE, 40.0, 3.0), 20)
        assert strategy.best(history) == tree.default
