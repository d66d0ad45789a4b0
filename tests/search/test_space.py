import json

import pytest

from paretoken.errors import UsageError
from paretoken.search.space import Axis, Constraint, Point, Tree

from .surfaces import SMALL, WIDE


def test_a_point_is_a_value_whatever_the_order() -> None:
    one, other = Point.of({"slots": 4, "weights": "Q8_0"}), Point.of({"weights": "Q8_0", "slots": 4})
    assert one == other
    assert hash(one) == hash(other)
    assert one.key == other.key == '{"slots":4,"weights":"Q8_0"}'
    assert one["slots"] == 4
    assert one.get("draft_length") is None
    assert "slots" in one
    assert sorted(one) == ["slots", "weights"]
    assert len(one) == 2
    with pytest.raises(KeyError):
        one["draft_length"]


def test_changed_and_differs() -> None:
    point = Point.of({"slots": 4, "flash": False})
    assert point.changed("slots", 8) == Point.of({"slots": 8, "flash": False})
    assert point.differs(point) == ()
    assert point.differs(Point.of({"slots": 8, "flash": False, "drafts": 3})) == ("drafts", "slots")


def test_json_there_and_back() -> None:
    point = Point.of({"slots": 4, "weights": "Q8_0", "flash": True})
    assert Point.from_json(json.loads(json.dumps(point.as_json()))) == point
    with pytest.raises(UsageError, match="'slots'"):
        Point.from_json({"slots": 1.5})


def test_the_tree_lists_every_allowed_point_once_the_default_first() -> None:
    points = SMALL.points()
    assert points[0] == SMALL.default == Point.of({"weights": "F16", "slots": 1, "speculation": "none"})
    assert len(points) == len(set(points)) == 3 * (3 + 2 * 2)
    assert points == Tree(SMALL.axes, SMALL.constraints).points()
    assert all(SMALL.why_not(point) is None for point in points)
    assert all(("draft_length" in point) == (point["speculation"] == "draft") for point in points)
    assert len(WIDE.points()) == 72


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"weights": "F16", "slots": 1}, "it has no 'speculation'"),
        ({"weights": "F16", "slots": 1, "speculation": "draft"}, "it has no 'draft_length'"),
        ({"weights": "F16", "slots": 1, "speculation": "none", "draft_length": 4}, "'draft_length' does not exist"),
        ({"weights": "Q2_K", "slots": 1, "speculation": "none"}, "'weights' has no option 'Q2_K'"),
        ({"weights": "F16", "slots": 1, "speculation": "none", "cores": 2}, "no axis 'cores'"),
        ({"weights": "F16", "slots": 8, "speculation": "draft", "draft_length": 4}, "8 slots leave no memory"),
    ],
)
def test_why_not(options: dict[str, str | int | bool], why: str) -> None:
    assert why in (SMALL.why_not(Point.of(options)) or "")


def test_neighbours_are_one_choice_away_and_allowed() -> None:
    point = Point.of({"weights": "F16", "slots": 4, "speculation": "none"})
    assert SMALL.neighbours(point) == (
        point.changed("weights", "Q8_0"),
        point.changed("weights", "Q4_0"),
        point.changed("slots", 1),
        point.changed("slots", 8),
        point.changed("speculation", "draft").changed("draft_length", 4),
    )
    drafting = point.changed("speculation", "draft").changed("draft_length", 8)
    assert point in SMALL.neighbours(drafting)
    assert drafting.changed("slots", 8) not in SMALL.neighbours(drafting)


def test_the_model_level_of_a_point() -> None:
    point = Point.of({"weights": "Q8_0", "slots": 4, "speculation": "none"})
    assert SMALL.model_level(point) == Point.of({"weights": "Q8_0"})


@pytest.mark.parametrize(
    ("axes", "why"),
    [
        ((Axis("a", (1, 2), "service"), Axis("a", (1,), "service")), "two axes 'a'"),
        ((Axis("a", (), "service"),), "needs options"),
        ((Axis("a", (1, True), "service"),), "each of them once"),
        ((Axis("a", (1,), "engine"),), "level"),
        ((Axis("a", (1,), "service", (("b", (1,)),)), Axis("b", (1,), "service")), "not an earlier axis"),
        ((Axis("b", (1,), "service"), Axis("a", (1,), "service", (("b", (2,)),))), "options that 'b' does not have"),
    ],
)
def test_a_tree_that_contradicts_itself_is_refused(axes: tuple[Axis, ...], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        Tree(axes)


def test_a_forbidden_default_is_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match="too big"):
        Tree((Axis("a", (1, 2), "service"),), (Constraint("size", lambda p: p["a"] != 1, "too big"),))
