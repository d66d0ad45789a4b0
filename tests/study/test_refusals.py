from pathlib import Path
from typing import Any

import pytest

from paretoken.core.trial import Trial
from paretoken.models.find import resolve
from paretoken.search.space import Point
from paretoken.study.budget import parse_budget
from paretoken.study.plan import Pace, make_plan
from paretoken.study.refusals import bits_of, expected_refusal, refuse
from paretoken.study.space import space_for
from paretoken.study.state import State

from ..models.gguf_builder import small_llama

MARGIN_NAT = 0.01


@pytest.fixture
def state(tmp_path: Path) -> State:
    path = tmp_path / "base.gguf"
    path.write_bytes(small_llama(width=128).build())
    model = resolve(str(path), tmp_path / "cache")
    defaults = {"threads": 2, "slots": 1, "context_per_slot": 4096}
    space = space_for(model, engine="llamacpp", base_settings=defaults, streams=8, tokens_per_request=200)
    pace = Pace(0.01, 0.001, 1.0)
    return State(
        space, make_plan(budget=parse_budget("8 trials"), spent_s=0, streams=8, output_tokens=8, pace=pace), None
    )


def looked(state: State, verdict: str, kld: float | None, **options: Any) -> Point:
    """A model level that was looked at; its point."""
    point = state.space.tree.completed(options)
    behaviour = {"verdict": verdict, "kld": {"value": kld}, "same_top": {"value": 0.5}, "positions": 256}
    state.screens[state.space.tree.model_level(point)] = behaviour
    return point


def expected(state: State, **options: Any) -> str | None:
    return expected_refusal(state, state.space.tree.completed(options), MARGIN_NAT)


def test_bits_count_the_scales() -> None:
    assert {name: bits_of(name) for name in ("MXFP4", "Q4_0", "Q5_1", "Q8_0", "F16")} == {
        "MXFP4": 4.25,
        "Q4_0": 4.5,
        "Q5_1": 6.0,
        "Q8_0": 8.5,
        "F16": 16.0,
    }


def test_a_model_far_off_spares_a_look_at_those_with_few_bits_more_and_not_at_those_with_many(state: State) -> None:
    looked(state, "changed", 0.48, quantize="Q4_0")
    why = expected(state, quantize="Q5_0")
    assert why is not None and why.startswith("not looked at: Q4_0 with 4.5 bits a weight lies 0.48 nat off")
    assert "about 0.16 nat are expected, margin 0.01" in why
    assert expected(state, quantize="Q5_1") is not None, "0.48 / 3^1.5 is nine times the margin"
    assert expected(state, quantize="Q8_0") is None
    assert expected(state, quantize="Q4_0") is None, "it was looked at"
    assert expected(state) is None and expected(state, kv_cache="q8_0") is None, "the weights are as given"


def test_a_model_that_is_a_little_off_spares_nothing(state: State) -> None:
    looked(state, "changed", 0.06, quantize="Q4_0")
    assert expected(state, quantize="IQ4_NL") is not None, "as many bits, six times the margin"
    assert expected(state, quantize="Q5_0") is None


def test_the_refused_type_with_the_most_bits_says_most(state: State) -> None:
    looked(state, "changed", 9.0, quantize="MXFP4")
    assert expected(state, quantize="Q5_1") is not None
    looked(state, "changed", 0.04, quantize="Q5_0")
    assert expected(state, quantize="Q5_1") is None


@pytest.mark.parametrize(("verdict", "kld"), [("inconclusive", 0.5), ("changed_small", 0.5), ("fail", None)])
def test_only_a_refusal_with_a_distance_says_anything_of_others(state: State, verdict: str, kld: float | None) -> None:
    looked(state, verdict, kld, quantize="Q4_0")
    assert expected(state, quantize="Q5_0") is None


def test_a_distance_of_weights_and_cache_together_says_nothing_of_the_weights(state: State) -> None:
    looked(state, "changed", 5.0, quantize="Q4_0", kv_cache="q8_0")
    assert expected(state, quantize="Q5_0") is None


def test_a_refused_model_is_kept_once_with_all_its_trials_refused(state: State) -> None:
    point = looked(state, "changed", 0.48, quantize="Q8_0")
    behaviour = state.screens[state.space.tree.model_level(point)]
    for number in range(2):
        refuse(
            state,
            Trial(str(number), "screening", state.space.candidate(point), "complete", point=point.as_json()),
            behaviour,
        )
    assert [trial.state for trial in state.trials] == ["refused"]
    assert len(state.refused) == 1
    assert state.refused[0]["reason"] == "its behaviour changed: KLD 0.4800 nat, same top token 50.0% of 256 positions"
