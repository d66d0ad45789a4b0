from typing import Any

import pytest

from paretoken.core.candidate import Candidate, Model
from paretoken.core.trial import Trial
from paretoken.core.verdict import Effect
from paretoken.study.choose import finalists_in_order, recommend


def effect(verdict: str) -> Effect:
    return Effect("output_tok_s", verdict, 1.2, (1.1, 1.3), blocks=6, margin=0.03)


def trial(label: str, rate: float | None, state: str = "complete") -> Trial:
    model = Model("m", "m.gguf", "f", 1)
    metrics: dict[str, Any] = {"output_tok_s": {"value": rate, "ci95": None, "reasons": []}}
    return Trial("t", "screening", Candidate(label, "llamacpp", model, {}), state, metrics=metrics)


def choose(**changes: Any) -> Any:
    settings: dict[str, Any] = {
        "baseline": "B",
        "hand": "H",
        "finalist": "F",
        "finalist_vs_hand": effect("better"),
        "finalist_vs_baseline": effect("better"),
        "hand_vs_baseline": effect("better"),
        "behaviour": "changed_small",
        "intact": "intact",
    }
    return recommend(**{**settings, **changes})


def test_the_finalist_wins_when_it_beats_both_and_keeps_its_behaviour() -> None:
    assert choose().label == "F"


@pytest.mark.parametrize("verdict", ["same", "worse", "unknown", "invalid"])
def test_a_finalist_that_does_not_beat_the_hand_setting_is_not_recommended(verdict: str) -> None:
    choice = choose(finalist_vs_hand=effect(verdict))
    assert choice.label == "H"
    assert verdict in choice.why


@pytest.mark.parametrize("behaviour", ["changed", "inconclusive", "fail", None])
def test_behaviour_stands_before_speed(behaviour: str | None) -> None:
    assert choose(behaviour=behaviour).label == "H"


@pytest.mark.parametrize("intact", ["not_intact", "inconclusive"])
def test_a_service_change_must_be_intact(intact: str) -> None:
    assert choose(intact=intact).label == "H"


@pytest.mark.parametrize("verdict", ["same", "worse", "unknown"])
def test_a_tie_goes_to_the_baseline(verdict: str) -> None:
    choice = choose(finalist_vs_hand=effect("same"), hand_vs_baseline=effect(verdict))
    assert choice.label == "B"


def test_nothing_is_recommended_from_invalid_finals() -> None:
    bad = effect("invalid")
    assert choose(finalist_vs_hand=bad, finalist_vs_baseline=bad, hand_vs_baseline=bad).label is None
    assert choose(hand_vs_baseline=bad).label is None


def test_without_a_finalist_the_hand_setting_still_has_to_beat_the_baseline() -> None:
    none: dict[str, Any] = {"finalist": None, "finalist_vs_hand": None, "finalist_vs_baseline": None}
    assert choose(**none).label == "H"
    assert choose(**none, hand_vs_baseline=effect("same")).label == "B"


def test_at_one_stream_the_hand_setting_is_the_baseline() -> None:
    choice = choose(hand="B", finalist_vs_hand=effect("same"), hand_vs_baseline=None)
    assert choice.label == "B"


def test_failed_trials_are_never_finalists_and_the_fastest_is_first() -> None:
    trials = [
        trial("slow", 10),
        trial("crashed", 99, "crashed"),
        trial("fast", 20),
        trial("H", 50),
        trial("none", None),
    ]
    assert [t.candidate.label for t in finalists_in_order(trials, ["B", "H"])] == ["fast", "slow"]
