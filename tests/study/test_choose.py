from typing import Any

import pytest

from paretoken.core.objective import Limit
from paretoken.core.verdict import Effect
from paretoken.metrics.slo import Held
from paretoken.study.choose import Entrant, recommend


def effect(verdict: str) -> Effect:
    return Effect("output_tok_s", verdict, 1.2, (1.1, 1.3), blocks=6, margin=0.03)


def hand_of(verdict: str = "better", **changes: Any) -> Entrant:
    return Entrant("H", **{"vs_baseline": effect(verdict), **changes})


def finalist_of(vs_hand: str = "better", vs_baseline: str = "better", **changes: Any) -> Entrant:
    return Entrant("F", vs_baseline=effect(vs_baseline), vs_hand=effect(vs_hand), **changes)


def test_the_finalist_wins_when_it_beats_both_and_keeps_its_behaviour() -> None:
    assert recommend(Entrant("B"), hand_of(), finalist_of(behaviour="changed_small")).label == "F"


@pytest.mark.parametrize("verdict", ["same", "worse", "unknown", "invalid"])
def test_a_finalist_that_does_not_beat_the_hand_setting_is_not_recommended(verdict: str) -> None:
    choice = recommend(Entrant("B"), hand_of(), finalist_of(vs_hand=verdict))
    assert choice.label == "H"
    assert verdict in choice.why


@pytest.mark.parametrize("behaviour", ["changed", "inconclusive", "fail"])
def test_behaviour_stands_before_speed(behaviour: str) -> None:
    assert recommend(Entrant("B"), hand_of(), finalist_of(behaviour=behaviour)).label == "H"


@pytest.mark.parametrize("intact", ["not_intact", "inconclusive"])
def test_a_service_change_must_be_intact_the_hand_settings_too(intact: str) -> None:
    assert recommend(Entrant("B"), hand_of(), finalist_of(intact=intact)).label == "H"
    assert recommend(Entrant("B"), hand_of(intact=intact), finalist_of(intact=intact)).label == "B"


def test_who_fails_requests_or_is_worse_in_a_latency_does_not_win() -> None:
    assert recommend(Entrant("B"), hand_of(), finalist_of(failed_share=0.15)).label == "H"
    choice = recommend(Entrant("B"), hand_of(), finalist_of(worse_than_hand="p95 of ttft_from_due_ms"))
    assert choice.label == "H"
    assert "p95" in choice.why


@pytest.mark.parametrize("verdict", ["same", "worse", "unknown"])
def test_a_tie_goes_to_the_baseline(verdict: str) -> None:
    assert recommend(Entrant("B"), hand_of(verdict), finalist_of(vs_hand="same")).label == "B"


def test_nothing_is_recommended_from_invalid_finals() -> None:
    assert recommend(Entrant("B"), hand_of("invalid"), finalist_of("invalid", "invalid")).label is None
    assert recommend(Entrant("B"), hand_of("invalid"), finalist_of()).label is None
    assert recommend(Entrant("B"), None, finalist_of(vs_baseline="invalid")).label is None


def test_without_a_finalist_the_hand_setting_still_has_to_beat_the_baseline() -> None:
    assert recommend(Entrant("B"), hand_of(), None).label == "H"
    assert recommend(Entrant("B"), hand_of("same"), None).label == "B"


def test_at_one_stream_the_hand_setting_is_the_baseline() -> None:
    assert recommend(Entrant("B"), None, Entrant("F", vs_baseline=effect("better"))).label == "F"
    assert recommend(Entrant("B"), None, Entrant("F", vs_baseline=effect("same"))).label == "B"
    assert recommend(Entrant("B"), None, None).label == "B"


def test_at_one_stream_the_finalist_is_worse_than_the_baseline_in_nothing() -> None:
    finalist = Entrant("F", vs_baseline=effect("better"), worse_than_hand="tpot_p50_ms")
    choice = recommend(Entrant("B"), None, finalist)
    assert choice.label == "B" and "worse than the hand setting in tpot_p50_ms" in choice.why


def test_nothing_is_known_beside_a_baseline_that_fails_its_requests() -> None:
    invalid = finalist_of("better", "invalid")
    assert recommend(Entrant("B", failed_share=0.5), hand_of("invalid"), invalid).label is None


def test_a_failing_hand_setting_is_no_rival() -> None:
    choice = recommend(Entrant("B"), hand_of("invalid", failed_share=0.5), finalist_of("invalid", "better"))
    assert choice.label == "F" and "the hand setting failed" in choice.why


def slo(verdict: str, value_ms: float) -> tuple[Held, ...]:
    return (Held(Limit("p95", "ttft", 2.0), value_ms, (None, None), verdict),)


def test_who_misses_the_slo_is_not_recommended_and_need_not_be_beaten() -> None:
    met, missed = slo("met", 1000), slo("missed", 3000)
    choice = recommend(Entrant("B", slo=met), hand_of(slo=met), finalist_of(slo=missed))
    assert choice.label == "H" and "F misses the SLO (p95 ttft 3 s, limit 2 s)" in choice.why
    choice = recommend(Entrant("B", slo=missed), hand_of(slo=missed), finalist_of("worse", "worse", slo=met))
    assert choice.label == "F" and "which the hand setting and the baseline do not" in choice.why
    choice = recommend(Entrant("B", slo=met), hand_of(slo=missed), finalist_of("worse", "better", slo=met))
    assert choice.label == "F" and "beats the baseline beyond the interval" in choice.why


def test_not_shown_to_meet_is_not_met() -> None:
    met, unsettled = slo("met", 1000), slo("unknown", 1900)
    choice = recommend(Entrant("B", slo=met), None, finalist_of(slo=unsettled))
    assert choice.label == "B" and "was not shown to meet" in choice.why


def test_where_nothing_meets_the_slo_the_nearest_and_by_how_much_is_said() -> None:
    sides = (
        Entrant("B", slo=slo("missed", 8000)),
        hand_of(slo=slo("missed", 5000)),
        finalist_of(slo=slo("missed", 3000)),
    )
    choice = recommend(*sides)
    assert choice.label is None
    assert choice.why == "nothing meets the SLO; nearest F: p95 ttft 3 s, limit 2 s, 1.5 times it"
    sides = (
        Entrant("B", slo=slo("missed", 8000)),
        hand_of(slo=slo("missed", 5000)),
        finalist_of(slo=slo("unknown", 1900)),
    )
    choice = recommend(*sides)
    assert choice.label is None and "nothing was shown to meet the SLO; nearest F" in choice.why


def test_a_candidate_that_meets_the_slo_and_changed_the_answers_leaves_nothing() -> None:
    choice = recommend(
        Entrant("B", slo=slo("missed", 8000)), None, finalist_of(behaviour="changed", slo=slo("met", 900))
    )
    assert choice.label is None
    assert "behaviour gate" in choice.why and "the baseline does not meet the SLO: p95 ttft 8 s" in choice.why
