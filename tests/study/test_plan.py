import pytest

from paretoken.errors import UsageError
from paretoken.study.budget import Budget, parse_budget
from paretoken.study.plan import Pace, Plan, block_requests, final_requests, make_plan, replanned

PACE = Pace(token_s=0.011, prefill_s=0.003, start_s=1.2)


def plan(budget: Budget, pace: Pace = PACE, streams: int = 8, spent_s: float = 10.0) -> Plan:
    return make_plan(budget=budget, spent_s=spent_s, streams=streams, output_tokens=32, pace=pace)


@pytest.mark.parametrize("streams", [1, 2, 4, 8, 16, 64])
def test_the_finals_never_have_fewer_requests_than_p95_needs(streams: int) -> None:
    assert 6 * block_requests(streams) >= final_requests()
    assert block_requests(streams) % streams == 0


def test_a_budget_is_minutes_or_trials() -> None:
    assert parse_budget("8m") == Budget(480.0, None, given=True)
    assert parse_budget("12 trials") == parse_budget("12t") == Budget(None, 12, given=True)
    assert parse_budget(None) == Budget(480.0, None, given=False)
    assert parse_budget("1 trial").words == "1 trial"
    with pytest.raises(UsageError, match="0 trials"):
        parse_budget("0 trials")
    with pytest.raises(UsageError, match="12 trials"):
        parse_budget("soon")


def test_a_longer_budget_goes_to_the_search_then_to_positions_then_to_each_technique() -> None:
    short, middle, long = (plan(Budget(seconds, given=True)) for seconds in (440, 600, 3600))
    assert short.search_s is not None and middle.search_s is not None and long.search_s is not None
    assert short.search_s < middle.search_s < long.search_s
    assert short.final_positions < middle.final_positions == long.final_positions == 2048
    assert short.ablations == 0 and middle.ablations < long.ablations == 6
    assert short.requests_per_block == long.requests_per_block
    assert short.short is not None and "positions" in short.short and long.short is None
    for found, seconds in ((short, 440), (middle, 600), (long, 3600)):
        assert found.total_s + 10 <= seconds + 1


def test_a_given_budget_that_no_comparison_fits_is_refused_with_what_would() -> None:
    with pytest.raises(UsageError, match=r"a budget of 3 s is too short: .* give --budget \d+m"):
        plan(Budget(3.0, given=True))
    grown = plan(Budget(3.0))
    assert grown.budget.seconds is not None and grown.budget.seconds > 60
    assert grown.final_positions == 512


def test_a_number_of_trials_leaves_the_rest_whole() -> None:
    found = plan(Budget(None, 12, given=True))
    assert found.search_s is None
    assert (found.final_positions, found.ablations) == (2048, 6)
    assert replanned(found, spent_s=9999, slower=3, finalists=3) is found


def test_a_slow_hour_costs_positions_and_never_requests() -> None:
    found = plan(Budget(600))
    on_time = replanned(found, spent_s=150, slower=1.0, finalists=3)
    assert on_time.final_positions == 2048 and on_time.short is None
    late = replanned(found, spent_s=180, slower=1.4, finalists=3)
    assert 512 <= late.final_positions < 2048 and late.final_positions % 256 == 0
    assert "1.4 times as long as planned" in str(late.short)
    assert late.requests_per_block == found.requests_per_block
    assert replanned(found, spent_s=900, slower=1.0, finalists=3).final_positions == 512
    assert replanned(found, spent_s=900, slower=1.0, finalists=3).ablations == 0
