import pytest

from paretoken.core.candidate import MODEL_LEVEL, SERVICE_LEVEL
from paretoken.errors import UsageError
from paretoken.search.base import Told, askable, barred, fastest, rates
from paretoken.search.space import Axis, Point, Tree

from .surfaces import SMALL

FIRST, SECOND, THIRD = SMALL.points()[:3]


@pytest.mark.parametrize(
    ("state", "value", "effort", "seconds"),
    [
        ("done", 1.0, 1.0, 1.0),
        ("complete", None, 1.0, 1.0),
        ("complete", 0.0, 1.0, 1.0),
        ("complete", float("nan"), 1.0, 1.0),
        ("crashed", 1.0, 1.0, 1.0),
        ("complete", 1.0, 0.0, 1.0),
        ("complete", 1.0, 1.5, 1.0),
        ("complete", 1.0, 1.0, -1.0),
    ],
)
def test_a_run_that_contradicts_itself_is_refused(
    state: str, value: float | None, effort: float, seconds: float
) -> None:
    with pytest.raises(UsageError):
        Told(FIRST, effort, state, value, seconds)


def test_a_whole_run_counts_twice_as_much_as_half_a_run() -> None:
    history = [Told(FIRST, 0.5, "complete", 1.0, 1.0), Told(FIRST, 1.0, "complete", 8.0, 1.0)]
    assert rates(SMALL, history) == {FIRST: pytest.approx(4.0)}


def test_who_failed_is_barred_and_who_was_interrupted_is_only_left_alone() -> None:
    history = [
        Told(FIRST, 1.0, "complete", 9.0, 1.0),
        Told(FIRST, 1.0, "interrupted", None, 1.0),
        Told(SECOND, 1.0, "complete", 99.0, 1.0),
        Told(SECOND, 1.0, "crashed", None, 1.0),
    ]
    assert barred(SMALL, history) == {SECOND}
    assert not {FIRST, SECOND} & set(askable(SMALL, history))
    assert THIRD in askable(SMALL, history)
    assert fastest(rates(SMALL, history)) == FIRST


def test_a_refusal_bars_all_points_of_that_model() -> None:
    refused = next(point for point in SMALL.points() if point["weights"] == "Q4_0")
    closed = barred(SMALL, [Told(refused, 1.0, "refused", None, 1.0)])
    assert closed == {point for point in SMALL.points() if point["weights"] == "Q4_0"}


def test_a_refused_change_takes_along_who_changes_still_more_and_nobody_who_changes_less() -> None:
    weights, cache = (
        Axis("weights", ("as given", "Q8_0", "Q4_0"), MODEL_LEVEL),
        Axis("cache", ("f16", "q8_0"), MODEL_LEVEL),
    )
    tree = Tree((weights, cache, Axis("slots", (1, 8), SERVICE_LEVEL)))

    def point(weights: str, cache: str, slots: int = 1) -> Point:
        return Point.of({"weights": weights, "cache": cache, "slots": slots})

    alone = barred(tree, [Told(point("Q4_0", "f16"), 1.0, "refused", None, 1.0)])
    assert alone == {point("Q4_0", cache, slots) for cache in ("f16", "q8_0") for slots in (1, 8)}
    both = barred(tree, [Told(point("Q4_0", "q8_0"), 1.0, "refused", None, 1.0)])
    assert both == {point("Q4_0", "q8_0", slots) for slots in (1, 8)}
    given = barred(tree, [Told(tree.default, 1.0, "refused", None, 1.0)])
    assert given == {point("as given", "f16", slots) for slots in (1, 8)}


def test_the_earlier_of_two_equal_points_is_fastest_and_nothing_of_nothing() -> None:
    assert fastest({FIRST: 2.0, SECOND: 2.0}) == FIRST
    assert fastest({}) is None
