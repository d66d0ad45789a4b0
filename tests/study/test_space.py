from collections.abc import Callable
from pathlib import Path

import pytest

from paretoken.core.candidate import Model
from paretoken.errors import UsageError
from paretoken.models.find import resolve
from paretoken.search.space import Point
from paretoken.study.ablation import ablations_of, further_points
from paretoken.study.prior import prior_of
from paretoken.study.space import Space, space_for

from ..models.gguf_builder import small_llama

DEFAULTS = {"threads": 2, "batch_threads": 2, "slots": 1, "context_per_slot": 4096, "kv_type": "f16"}


@pytest.fixture
def space_at(tmp_path: Path) -> Callable[[int], Space]:
    path = tmp_path / "base.gguf"
    path.write_bytes(small_llama(width=128).build())
    model: Model = resolve(str(path), tmp_path / "cache")

    def build(streams: int) -> Space:
        return space_for(model, engine="llamacpp", base_settings=DEFAULTS, streams=streams, tokens_per_request=200)

    return build


def at(space: Space, **options: object) -> Point:
    return space.tree.completed(options)  # type: ignore[arg-type]


def test_labels_say_what_is_as_given_and_what_is_not_the_engines_own(space_at: Callable[[int], Space]) -> None:
    space = space_at(8)
    assert space.label(space.baseline) == f"{space.published} as given · 1 slot"
    assert space.label(space.hand) == f"{space.published} as given · 8 slots"
    point = at(space, quantize="Q8_0", batching=4, replicas=2, samplers="short")
    assert space.tree.why_not(point) is None
    assert space.label(point) == "Q8_0 · 4 slots · 2 replicas · short sampler chain"
    assert space.switched_on(point) == ["quantize", "batching", "replicas", "samplers"]


def test_fewer_slots_than_half_the_streams_are_not_tried(space_at: Callable[[int], Space]) -> None:
    axes = {axis.name: axis.options for axis in space_at(8).tree.axes}
    assert axes["batching"] == ("default", 4, 8)
    axes = {axis.name: axis.options for axis in space_at(1).tree.axes}
    assert "batching" not in axes and "replicas" not in axes
    assert space_at(1).hand == space_at(1).baseline


def test_what_is_known_not_to_work_is_never_a_point(space_at: Callable[[int], Space]) -> None:
    space = space_at(8)
    points = space.tree.points()
    assert points[0] == space.baseline and space.hand in points
    assert {p["kv_cache"] for p in points} == {"default", "q8_0"}
    assert not [p for p in points if "replicas" in p and p["batching"] == "default"]
    assert not [p for p in points if p.get("replicas") == 2 and p["threads"] != "default"]
    assert "replicas" not in at(space, replicas=2), "one slot can't be shared out"


def test_replicas_share_out_slots_and_threads(space_at: Callable[[int], Space]) -> None:
    space = space_at(8)
    found = space.candidate(at(space, batching=8, replicas=2))
    assert found.replicas == 2
    assert (found.engine_settings["slots"], found.engine_settings["threads"]) == (4, 1)
    assert space.candidate(at(space, batching=8)).key != found.key


def test_a_request_beyond_the_models_context_is_refused(space_at: Callable[[int], Space]) -> None:
    space = space_at(8)
    with pytest.raises(UsageError, match="does not fit"):
        space_for(space.model, engine="llamacpp", base_settings=DEFAULTS, streams=8, tokens_per_request=10**6)


def test_each_technique_alone_and_the_winner_without_it(space_at: Callable[[int], Space]) -> None:
    space = space_at(8)
    winner = at(space, quantize="Q8_0", batching=8)
    found = {each.axis: each for each in ablations_of(space, winner)}
    assert found["quantize"].alone == at(space, quantize="Q8_0")
    assert found["quantize"].removed == space.hand == found["batching"].alone
    further = further_points(found.values(), [space.baseline, space.hand, winner], most=6)
    assert further == [at(space, quantize="Q8_0")], "the hand setting shows the slots alone already"
    assert ablations_of(space, space.baseline) == ()


def test_a_technique_that_another_needs_says_why_it_cannot_be_taken_out(space_at: Callable[[int], Space]) -> None:
    space = space_at(8)
    found = {each.axis: each for each in ablations_of(space, at(space, batching=8, replicas=2))}
    assert found["batching"].removed is None and "replicas" in str(found["batching"].why_not)
    assert found["replicas"].alone is None
    assert found["replicas"].removed == space.hand


def test_drafts_are_expected_to_pay_only_where_answers_copy_their_prompt(space_at: Callable[[int], Space]) -> None:
    space = space_at(1)
    talk, copies = (prior_of(space, None, asks)["speculate", "ngram-simple"] for asks in ("chat", "copying"))
    assert talk[0] < 0 < copies[0]
