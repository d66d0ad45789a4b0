from paretoken.search.strategies.halving import Halving

from ..conformance import StrategyConformance
from ..surfaces import SMALL, play, problem_of, surface


class TestHalving(StrategyConformance):
    strategy = Halving


def test_a_bracket_is_short_runs_then_whole_runs_of_the_better_half_then_repeats() -> None:
    on = surface(0, tree=SMALL, noise_sd=0.0)
    history = play(Halving(problem_of(on)), on.run, 100)[:14]
    assert [told.effort for told in history] == [0.5] * 8 + [1.0] * 6
    by_rate = sorted({told.point for told in history[:8]}, key=lambda point: -on.log_rate[point])
    assert [told.point for told in history[8:12]] == by_rate[:4]
    assert [told.point for told in history[12:]] == by_rate[:2]
