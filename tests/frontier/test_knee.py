from paretoken.frontier.knee import knee
from paretoken.frontier.pareto import Coordinate, Point


def point(label: str, cost: float, wait: float) -> Point:
    return Point(label, {"cost": Coordinate.exact(cost), "wait": Coordinate.exact(wait)})


def test_the_knee_gives_up_least_on_its_worst_side() -> None:
    on = [point("cheap", 1, 100), point("bend", 2, 20), point("fast", 10, 10)]
    found, why = knee(on)
    assert found is on[1]
    assert "cost, wait" in why


def test_two_ends_have_nothing_between_them() -> None:
    assert knee([point("a", 1, 2), point("b", 2, 1)])[0] is None
    assert "are two" in knee([point("a", 1, 2), point("b", 2, 1)])[1]
    assert knee([])[0] is None


def test_an_axis_on_which_all_are_equal_decides_nothing() -> None:
    on = [point("a", 1, 5), point("b", 2, 5), point("c", 3, 5)]
    assert knee(on)[0] is on[0]
