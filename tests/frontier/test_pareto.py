"""Domination counts only beyond the intervals."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoken.frontier.pareto import Coordinate, Point, dominates, frontier


def point(label: str, *values: tuple[float, float] | float, **more: object) -> Point:
    """Axes x, y, z: a value, or a value with its half width."""
    axes = {}
    for name, value in zip("xyz", values, strict=False):
        middle, half = value if isinstance(value, tuple) else (value, 0.0)
        axes[name] = Coordinate(middle, middle - half, middle + half)
    return Point(label, axes, **more)  # type: ignore[arg-type]


def test_better_on_one_axis_and_no_worse_on_the_others() -> None:
    assert dominates(point("a", 1, 1), point("b", 2, 1))
    assert not dominates(point("a", 1, 2), point("b", 2, 1))
    assert not dominates(point("a", 1, 1), point("b", 1, 1))


def test_inside_the_intervals_nobody_dominates() -> None:
    a, b = point("a", (1.0, 0.3), 1), point("b", (1.5, 0.3), 1)
    assert not dominates(a, b)
    assert {p.label for p in frontier([a, b]).on} == {"a", "b"}
    assert dominates(a, point("c", (1.7, 0.3), 1))


def test_worse_by_value_anywhere_is_enough_not_to_dominate() -> None:
    assert not dominates(point("a", 1, (1.01, 0.5)), point("b", 9, (1.0, 0.5)))


def test_an_unknown_end_supports_no_claim() -> None:
    open_end = Point("a", {"x": Coordinate(1.0, 0.9, None), "y": Coordinate.exact(1)})
    assert not dominates(open_end, point("b", 5, 1))
    assert dominates(Point("a", {"x": Coordinate(1.0, 0.9, None), "y": Coordinate.exact(0.5)}), point("b", 5, 1))
    no_low = Point("b", {"x": Coordinate(5.0, None, 6.0), "y": Coordinate.exact(1)})
    assert not dominates(point("a", 1, 1), no_low)


def test_each_point_lands_in_one_place_with_its_reason() -> None:
    fast, slow = point("fast", 1, 1), point("slow", 2, 2)
    crashed = point("crashed", 0.1, 0.1, why_not="it crashed")
    failing = point("failing", 0.1, 0.1, failed_share=0.999)
    unmeasured = Point("unmeasured", {"x": Coordinate.exact(0.1), "y": None})
    unknown_failures = point("unknown", 0.1, 0.1, failed_share=float("nan"))
    found = frontier([crashed, slow, fast, failing, unmeasured, unknown_failures])
    assert found.on == (fast,)
    assert found.dominated == ((slow, fast),)
    assert [(p.label, why) for p, why in found.infeasible] == [
        ("crashed", "it crashed"),
        ("failing", "99.9 % of its requests failed"),
        ("unmeasured", "y was not measured"),
        ("unknown", "nan % of its requests failed"),
    ]


def test_points_of_different_axes_do_not_meet() -> None:
    with pytest.raises(ValueError, match="same axes"):
        frontier([point("a", 1, 1), point("b", 1, 1, 1)])
    assert frontier([]).on == ()


coordinates = st.tuples(st.integers(0, 6).map(float), st.sampled_from([0.0, 0.5, 1.5]))


@given(st.lists(st.tuples(coordinates, coordinates, coordinates), min_size=1, max_size=8))
def test_the_frontier_is_never_empty_and_no_one_on_it_is_dominated(rows: list[tuple[tuple[float, float], ...]]) -> None:
    points = [point(str(i), *row) for i, row in enumerate(rows)]
    found = frontier(points)
    assert found.on
    assert not any(dominates(a, b) for a, b in itertools.permutations(found.on, 2))
    assert all(dominates(by, loser) for loser, by in found.dominated)
    assert len(found.on) + len(found.dominated) == len(points)
