"""What was asked for becomes an objective: a purpose's own, or what replaces it."""

import pytest

from paretoken.cli.optimize import PURPOSE_NAMES
from paretoken.core.objective import Load
from paretoken.errors import UsageError
from paretoken.study.objectives import PURPOSES, asked_for, objective_of, objective_words
from paretoken.study.plan import block_requests, final_requests

LOAD = Load(concurrency=8)


def test_the_command_line_knows_every_purpose() -> None:
    assert list(PURPOSES) == PURPOSE_NAMES


@pytest.mark.parametrize("purpose", sorted(PURPOSES))
def test_every_purpose_is_an_objective_that_says_what_it_limits(purpose: str) -> None:
    found = objective_of(asked_for(purpose, None, None), LOAD, 32, 0.01)
    assert found.name == purpose
    words = objective_words(found)
    assert words.startswith(f"{purpose}: ")
    assert all(f"{limit.stat} {limit.metric} < " in words for limit in found.slo)


def test_an_slo_or_a_goal_of_ones_own_replaces_the_purposes() -> None:
    found = objective_of(asked_for("chat", "p95 e2e < 3s", "latency"), LOAD, 32, 0.01)
    assert [limit.metric for limit in found.slo] == ["e2e"]
    assert (found.goal, found.deciding_metric) == ("latency", "e2e_p50_ms")


def test_without_a_wish_the_lowest_cost_is_sought() -> None:
    found = objective_of(asked_for(None, None, None), LOAD, 32, 0.01)
    assert (found.goal, found.slo, found.name) == ("cost", (), None)
    assert objective_of({"concurrency": 8}, LOAD, 32, 0.01) == found  # a study of before


@pytest.mark.parametrize(
    ("purpose", "slo", "goal", "named"),
    [
        ("sport", None, None, "sport"),
        (None, None, "beauty", "beauty"),
        (None, None, "goodput", "--slo"),
        (None, "p95 itl < 1s", "goodput", "--slo"),
        (None, "soon", None, "soon"),
    ],
)
def test_what_cannot_be_meant_is_named(purpose: str | None, slo: str | None, goal: str | None, named: str) -> None:
    with pytest.raises(UsageError) as refused:
        asked_for(purpose, slo, goal)
    assert named in str(refused.value)


def test_a_p99_needs_more_requests_than_a_p95() -> None:
    slo = objective_of(asked_for(None, "p99 ttft < 1s", None), LOAD, 32, 0.01).slo
    assert final_requests() == 90
    assert final_requests(slo) == 460
    assert 6 * block_requests(8, slo) >= 460
