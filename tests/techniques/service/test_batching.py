from collections.abc import Callable

import pytest

from paretoken.core.candidate import Candidate, Model
from paretoken.errors import UsageError
from paretoken.models.gguf_header import read_header
from paretoken.techniques.base import Situation
from paretoken.techniques.service.batching import Batching, context_per_slot

from ...models.gguf_builder import Gguf, small_llama


@pytest.mark.parametrize(
    ("streams", "slots"), [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (8, [1, 4, 8]), (16, [1, 8, 16])]
)
def test_one_half_and_all_of_the_streams(model_of: Callable[[Gguf], Model], streams: int, slots: list[int]) -> None:
    header = read_header(model_of(small_llama()).path)
    options = Batching().options(Situation(header, "llamacpp", streams, tokens_per_request=300))
    assert [option["slots"] for option in options] == slots
    assert {option["context_per_slot"] for option in options} == {512}


@pytest.mark.parametrize(
    ("tokens", "model_context", "expected"),
    [(1, 2048, 256), (256, 2048, 256), (257, 2048, 512), (990, 1000, 1000), (5, None, 256)],
)
def test_a_slot_gets_what_a_request_needs_in_the_engines_steps(
    tokens: int, model_context: int | None, expected: int
) -> None:
    assert context_per_slot(tokens, model_context) == expected


def test_a_request_beyond_the_models_context_is_refused_with_both_numbers(model_of: Callable[[Gguf], Model]) -> None:
    header = read_header(model_of(small_llama()).path)
    with pytest.raises(UsageError, match=r"2049 tokens .* 2048"):
        Batching().options(Situation(header, "llamacpp", streams=8, tokens_per_request=2049))


def test_more_slots_never_shorten_a_request() -> None:
    model = Model("m", "/m.gguf", "a" * 64, 1)
    candidate = Candidate("base", "llamacpp", model, {"threads": 2, "slots": 1, "context_per_slot": 4096})
    changed = Batching().apply(candidate, {"slots": 4, "context_per_slot": 512})
    assert changed.engine_settings == {"threads": 2, "slots": 4, "context_per_slot": 512}
    assert changed.label == "base · 4 slots"
    assert candidate.engine_settings["slots"] == 1
