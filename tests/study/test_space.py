import pytest

from paretoken.study.plan import Pace, block_requests, final_requests, make_plan, replanned
from paretoken.study.space import BASELINE, Point, _worth_trying


def test_labels_say_what_is_as_given() -> None:
    assert BASELINE.label("Q4_1") == "Q4_1 as given · 1 slot"
    assert Point(None, (8, 512)).label("Q4_1") == "Q4_1 as given · 8 slots"
    assert Point("Q8_0", (4, 512)).label("Q4_1") == "Q8_0 · 4 slots"


def test_fewer_slots_than_half_the_streams_are_not_tried() -> None:
    assert _worth_trying([(1, 512), (4, 512), (8, 512)], streams=8) == [(8, 512), (4, 512)]
    assert _worth_trying([(1, 512)], streams=1) == [(1, 512)]


@pytest.mark.parametrize("streams", [1, 2, 4, 8, 16, 64])
def test_the_finals_never_have_fewer_requests_than_p95_needs(streams: int) -> None:
    assert 6 * block_requests(streams) >= final_requests()
    assert block_requests(streams) % streams == 0


def test_a_short_budget_costs_behaviour_positions_and_never_requests() -> None:
    pace = Pace(token_s=0.013, prefill_s=0.003, start_s=1.5)
    short, long = (
        make_plan(budget_s=b, streams=8, output_tokens=32, new_models=3, candidates=8, pace=pace) for b in (60, 3600)
    )
    assert short.final_positions < long.final_positions == 2048
    assert short.requests_per_block == long.requests_per_block
    assert short.final_positions >= 512
    assert short.short is not None and "positions" in short.short and long.short is None
    assert long.total_s == sum(step.seconds for step in long.steps)


def test_what_took_longer_than_planned_costs_positions_and_never_requests() -> None:
    pace = Pace(token_s=0.01, prefill_s=0.0025, start_s=1.5)
    plan = make_plan(budget_s=480, streams=8, output_tokens=32, new_models=3, candidates=5, pace=pace)
    so_far_s = sum(step.seconds for step in plan.steps[:3])
    on_time = replanned(plan, since_start_s=so_far_s + 10, since_plan_s=so_far_s)
    assert on_time is plan
    late = replanned(plan, since_start_s=1.4 * so_far_s + 10, since_plan_s=1.4 * so_far_s)
    assert 512 <= late.final_positions < 2048 and late.final_positions % 256 == 0
    assert "1.4 times as long as planned" in str(late.short)
    assert late.requests_per_block == plan.requests_per_block
    hopeless = replanned(plan, since_start_s=900, since_plan_s=900)
    assert hopeless.final_positions == 512
