from typing import Any

import pytest

from paretoken.core.candidate import Candidate, Model
from paretoken.core.trial import Trial
from paretoken.core.verdict import Effect
from paretoken.study.choose import Entrant, finalists_in_order, recommend


def effect(verdict: str) -> Effect:
    return Effect("output_tok_s", verdict, 1.2, (1.1, 1.3), blocks=6, margin=0.03)


def trial(label: str, rate: float | None, state: str = "complete") -> Trial:
    model = Model("m", "m.gguf", "f", 1)
    metrics: dict[str, Any] = {"output_tok_s": {"value": rate, "ci95": None, "reasons": []}}
    return Trial("t", "screening", Candidate(label, "llamacpp", model, {}), state, metrics=metrics)


def hand_of(verdict: str = "better", **changes: Any) -> Entrant:
    return Entrant("H", **{"vs_baseline": effect(verdict), **changes})


def finalist_of(vs_hand: str = "better", vs_baseline: str = "better", **changes: Any) -> Entrant:
    return Entrant("F", vs_baseline=effect(vs_baseline), vs_hand=effect(vs_hand), **changes)


def test_the_finalist_wins_when_it_beats_both_and_keeps_its_behaviour() -> None:
    assert recommend("B", hand_of(), finalist_of(behaviour="changed_small")).label == "F"


@pytest.mark.parametrize("verdict", ["same", "worse", "unknown", "invalid"])
def test_a_finalist_that_does_not_beat_the_hand_setting_is_not_recommended(verdict: str) -> None:
    choice = recommend("B", hand_of(), finalist_of(vs_hand=verdict))
    assert choice.label == "H"
    assert verdict in choice.why


@pytest.mark.parametrize("behaviour", ["changed", "inconclusive", "fail"])
def test_behaviour_stands_before_speed(behaviour: str) -> None:
    assert recommend("B", hand_of(), finalist_of(behaviour=behaviour)).label == "H"


@pytest.mark.parametrize("intact", ["not_intact", "inconclusive"])
def test_a_service_change_must_be_intact_the_hand_settings_too(intact: str) -> None:
    assert recommend("B", hand_of(), finalist_of(intact=intact)).label == "H"
    assert recommend("B", hand_of(intact=intact), finalist_of(intact=intact)).label == "B"


def test_who_fails_requests_or_is_worse_in_a_latency_does_not_win() -> None:
    assert recommend("B", hand_of(), finalist_of(failed_share=0.15)).label == "H"
    choice = recommend("B", hand_of(), finalist_of(worse_than_hand="p95 of ttft_from_due_ms"))
    assert choice.label == "H"
    assert "p95" in choice.why


@pytest.mark.parametrize("verdict", ["same", "worse", "unknown"])
def test_a_tie_goes_to_the_baseline(verdict: str) -> None:
    assert recommend("B", hand_of(verdict), finalist_of(vs_hand="same")).label == "B"


def test_nothing_is_recommended_from_invalid_finals() -> None:
    assert recommend("B", hand_of("invalid"), finalist_of("invalid", "invalid")).label is None
    assert recommend("B", hand_of("invalid"), finalist_of()).label is None
    assert recommend("B", None, finalist_of(vs_baseline="invalid")).label is None


def test_without_a_finalist_the_hand_setting_still_has_to_beat_the_baseline() -> None:
    assert recommend("B", hand_of(), None).label == "H"
    assert recommend("B", hand_of("same"), None).label == "B"


def test_at_one_stream_the_hand_setting_is_the_baseline() -> None:
    assert recommend("B", None, Entrant("F", vs_baseline=effect("better"))).label == "F"
    assert recommend("B", None, Entrant("F", vs_baseline=effect("same"))).label == "B"
    assert recommend("B", None, None).label == "B"


def test_failed_trials_are_never_finalists_and_the_fastest_is_first() -> None:
    trials = [
        trial("slow", 10),
        trial("crashed", 99, "crashed"),
        trial("fast", 20),
        trial("H", 50),
        trial("none", None),
    ]
    assert [t.candidate.label for t in finalists_in_order(trials, ["B", "H"])] == ["fast", "slow"]
