from paretoken.core.doubt import DOUBTS, Doubt
from paretoken.report import gravity
from paretoken.report.gravity import by_gravity


def test_the_gravest_stands_first_and_equals_keep_their_order() -> None:
    named = ["baseline_already_quantised", "a_name_of_tomorrow", "drift", "clock_stepped", "host_contended"]
    told = [{"name": name} for name in named]
    said = ["clock_stepped", "drift", "host_contended", "a_name_of_tomorrow", "baseline_already_quantised"]
    assert [doubt["name"] for doubt in by_gravity(told)] == said


def test_every_name_that_is_ranked_is_a_doubt() -> None:
    ranked = gravity._MOVES_NUMBERS | gravity._EXPLAINS
    assert ranked <= set(DOUBTS)
    assert not any(Doubt(name, "").fatal for name in ranked)
