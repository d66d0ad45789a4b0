from typing import Any

from paretoken.core.objective import Load, Objective
from paretoken.metrics.slo import parse_slo
from paretoken.study.merit import merit

from ..made import failed, record


def objective(slo: str = "", goal: str = "cost") -> Objective:
    return Objective(Load(concurrency=2), 5, goal=goal, slo=parse_slo(slo) if slo else ())


# Two requests of five tokens each; the last one ends after 0.1 + 4 · 0.02 + 0.02 s.
TWO = [record(0), record(1, due_at=0.02)]


def waits(ttft_ms: float) -> dict[str, Any]:
    return {"ttft_from_due_ms": {"p50": ttft_ms / 2, "p95": ttft_ms}}


def test_a_rate_is_all_tokens_over_the_whole_run() -> None:
    assert merit(TWO, {}, objective()) == 10 / 0.2


def test_a_shorter_wait_is_worth_more_where_the_wait_is_the_goal() -> None:
    found = merit(TWO, {}, objective(goal="latency"))
    assert found is not None and abs(found - 1 / 0.18) < 1e-9


def test_who_exceeds_the_slo_is_worth_less_by_the_square_of_how_far() -> None:
    slo = objective("p95 ttft < 1s")
    assert merit(TWO, waits(900), slo) == merit(TWO, {}, objective())
    assert merit(TWO, waits(2000), slo) == 10 / 0.2 / 4
    assert merit(TWO, {}, slo) == 10 / 0.2 / 100**2, "what was not measured is the farthest"


def test_goodput_counts_requests_that_keep_the_slo_and_is_never_nothing() -> None:
    found = merit(TWO, waits(100), objective("p95 ttft < 1s", goal="goodput"))
    assert found is not None and abs(found - 2 / 0.2) < 1e-9
    assert (merit(TWO, waits(100), objective("p95 ttft < 1ms", goal="goodput")) or 0) > 0


def test_nothing_answered_has_no_merit() -> None:
    assert merit([failed(0)], {}, objective()) is None
    assert merit([], {}, objective()) is None
