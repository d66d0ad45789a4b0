from paretoken.study.plan import MIN_FINAL_REQUESTS, Pace, block_requests, make_plan
from paretoken.study.space import BASELINE, hand_setting, points, slot_counts


def test_baseline_comes_first_and_the_hand_setting_is_among_the_points() -> None:
    found = points("Q4_1", streams=8)
    assert found[0] == BASELINE
    assert hand_setting(8) in found
    assert len(found) == len(set(found))


def test_the_published_type_is_not_made_again() -> None:
    assert all(point.number_type != "Q4_1" for point in points("Q4_1", streams=8))
    assert {point.number_type for point in points("Q8_0", 8)} == {None, "F16", "Q4_1", "Q4_0"}


def test_one_stream_needs_one_slot_and_the_baseline_is_not_listed_twice() -> None:
    assert slot_counts(1) == [1]
    assert [point.number_type for point in points("Q4_1", streams=1)] == [None, "F16", "Q8_0", "Q4_0"]


def test_labels_say_what_is_as_given() -> None:
    assert BASELINE.label("Q4_1", default_slots=1) == "Q4_1 as given · 1 slot"
    assert hand_setting(8).label("Q4_1", default_slots=1) == "Q4_1 as given · 8 slots"


def test_the_finals_never_have_fewer_requests_than_p95_needs() -> None:
    for streams in (1, 2, 4, 8, 16, 64):
        assert 6 * block_requests(streams) >= MIN_FINAL_REQUESTS
        assert block_requests(streams) % streams == 0


def test_a_short_budget_costs_behaviour_positions_and_never_requests() -> None:
    pace = Pace(token_s=0.013, prefill_s=0.5, start_s=1.5)
    plans = [
        make_plan(budget_s=b, streams=8, output_tokens=32, new_models=3, candidates=8, pace=pace) for b in (60, 3600)
    ]
    assert plans[0].final_positions < plans[1].final_positions == 2048
    assert plans[0].requests_per_block == plans[1].requests_per_block
    assert plans[0].final_positions >= 512
    assert plans[1].total_s == sum(step.seconds for step in plans[1].steps)
