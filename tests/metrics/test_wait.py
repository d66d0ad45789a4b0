"""The textbooks' wait beside the two-part one."""

import pytest

from paretoken.metrics.wait import budget_sentence, tokens_within, wait_of, waits_json
from tests.made import failed, record


def test_both_predictions_and_their_residuals() -> None:
    wait = wait_of(record(ttft_s=1.0, tpot_s=0.02, tokens=11))
    assert wait is not None
    assert wait.textbook_s == pytest.approx(0.22)
    assert wait.two_part_s == pytest.approx(1.2)
    assert wait.two_part_residual_s == pytest.approx(0.0, abs=1e-9)
    assert wait.textbook_residual_s == pytest.approx(0.98)


def test_what_is_not_known_is_not_predicted() -> None:
    assert wait_of(record(tokens=1)) is None
    assert waits_json([failed(0)]) == {"n": 0, "reason": "no answer has a known token count, pace and end"}


@pytest.mark.parametrize(
    ("budget_s", "tpot_s", "n"), [(0.1, 0.02, 5), (0.1, 0.01, 10), (0.1, 0.022, 4), (0.1, 0.2, 0), (1.0, 0.1, 10)]
)
def test_how_long_an_answer_may_be(budget_s: float, tpot_s: float, n: int) -> None:
    assert tokens_within(budget_s, tpot_s) == n


def test_the_sentence() -> None:
    assert budget_sentence(0.022) == "for 100 ms whole, n ≤ 4 at 22 ms a token"
    with pytest.raises(ValueError, match="above zero"):
        tokens_within(0.1, 0.0)


def test_each_request_is_predicted_by_its_own_pace() -> None:
    found = waits_json([record(i, ttft_s=0.1 * (i + 1), tpot_s=0.02, tokens=11) for i in range(3)])
    assert found["n"] == 3
    assert found["two_part_residual_ms"] == pytest.approx(0.0, abs=1e-3)
    assert found["textbook_residual_ms"] == pytest.approx(180.0)
    assert found["e2e_ms"] == pytest.approx(400.0)
    assert found["tokens_within_100_ms"] == 5


def test_tokens_that_came_in_one_moment_have_no_budget() -> None:
    found = waits_json([record(0, tpot_s=0.0)])
    assert found["budget"] is None and found["tokens_within_100_ms"] is None
