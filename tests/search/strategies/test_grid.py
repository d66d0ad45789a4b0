from paretoken.search.strategies.grid import Grid

from ..conformance import StrategyConformance
from ..surfaces import SMALL, play, problem_of, surface


class TestGrid(StrategyConformance):
    strategy = Grid


def test_every_point_once_in_the_trees_order() -> None:
    on = surface(0, tree=SMALL)
    history = play(Grid(problem_of(on)), on.run, 100)
    assert tuple(told.point for told in history) == SMALL.points()
    assert {told.effort for told in history} == {1.0}
