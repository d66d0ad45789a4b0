from pathlib import Path

import pytest

from paretoken.models.find import resolve
from paretoken.search.space import Point
from paretoken.study.intactness import _without_texts, guilty_of
from paretoken.study.space import Space, space_for

from ..models.gguf_builder import small_llama


@pytest.fixture
def space(tmp_path: Path) -> Space:
    path = tmp_path / "base.gguf"
    path.write_bytes(small_llama(width=128).build())
    model = resolve(str(path), tmp_path / "cache")
    defaults = {"threads": 2, "batch_threads": 2, "slots": 1, "context_per_slot": 4096, "kv_type": "f16"}
    return space_for(model, engine="llamacpp", base_settings=defaults, streams=8, tokens_per_request=200)


def at(space: Space, **options: object) -> Point:
    return space.tree.completed(options)  # type: ignore[arg-type]


def test_texts_are_held_against_a_server_with_the_same_slots(space: Space) -> None:
    before, after = space.baseline, at(space, batching=8, prefill_chunk=64, samplers="short", speculate="ngram-simple")
    plain = _without_texts(space.candidate(before), space.candidate(after))
    assert plain.key == space.candidate(at(space, batching=8, prefill_chunk=64)).key


def test_replicas_are_held_against_one_process(space: Space) -> None:
    after = space.candidate(at(space, batching=8, replicas=2))
    plain = _without_texts(space.candidate(space.baseline), after)
    assert (plain.replicas, plain.engine_settings["slots"]) == (1, 8)


def test_the_models_own_changes_are_not_put_on_twice(space: Space) -> None:
    point = at(space, kv_cache="q8_0", samplers="short")
    before = space.candidate(space.without_service(point))
    assert _without_texts(before, space.candidate(point)) == before


def test_guilty_are_the_options_that_the_evidence_is_about(space: Space) -> None:
    point = at(space, batching=8, samplers="short", kv_cache="q8_0")
    assert guilty_of(point, {"evidence": "text"}) == {("samplers", "short")}
    assert guilty_of(point, {"evidence": "logits"}) == {("batching", 8)}
    assert guilty_of(point, {"verdict": "inconclusive"}) == {("samplers", "short")}
