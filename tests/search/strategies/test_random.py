from paretoken.search.strategies.random import Random

from ..conformance import StrategyConformance
from ..surfaces import SMALL, play, problem_of, surface


class TestRandom(StrategyConformance):
    strategy = Random


def test_every_point_once_in_an_order_of_the_seed() -> None:
    orders = []
    for seed in (0, 0, 1):
        on = surface(seed, tree=SMALL)
        orders.append([told.point for told in play(Random(problem_of(on)), on.run, 100)])
    assert orders[0] == orders[1] != orders[2]
    assert set(orders[0]) == set(SMALL.points())
    assert len(orders[0]) == len(SMALL.points())
