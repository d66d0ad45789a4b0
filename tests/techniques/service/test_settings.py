"""Techniques that set something of the engine: each holds to the conformance suite, and to its own word."""

from collections.abc import Callable

import pytest

from paretoken.core.candidate import Candidate, Model
from paretoken.engines.llamacpp import LlamaCppSettings
from paretoken.models.gguf_header import read_header
from paretoken.techniques import TECHNIQUES
from paretoken.techniques.base import Situation, Technique
from paretoken.techniques.model.kv_cache import KvCache
from paretoken.techniques.service.flash_attention import FlashAttention
from paretoken.techniques.service.prefill_chunk import PrefillChunk
from paretoken.techniques.service.prompt_cache import PromptCache
from paretoken.techniques.service.replicas import Replicas
from paretoken.techniques.service.samplers import Samplers
from paretoken.techniques.service.speculate import Speculate
from paretoken.techniques.service.threads import Threads

from ...models.gguf_builder import Gguf, small_llama
from ..conformance import TechniqueConformance


class TestKvCache(TechniqueConformance):
    technique = KvCache()


class TestFlashAttention(TechniqueConformance):
    technique = FlashAttention()


class TestPrefillChunk(TechniqueConformance):
    technique = PrefillChunk()


class TestPromptCache(TechniqueConformance):
    technique = PromptCache()


class TestReplicas(TechniqueConformance):
    technique = Replicas()


class TestSamplers(TechniqueConformance):
    technique = Samplers()


class TestSpeculate(TechniqueConformance):
    technique = Speculate()


class TestThreads(TechniqueConformance):
    technique = Threads()


def situation(model: Model, **changed: int) -> Situation:
    given = {"streams": 8, "tokens_per_request": 200, "threads": 4, **changed}
    return Situation(read_header(model.path), "llamacpp", **given)


@pytest.mark.parametrize("name", TECHNIQUES.names())
def test_what_a_technique_sets_the_engine_takes(name: str, model_of: Callable[[Gguf], Model]) -> None:
    """Every option gives settings that the engine's own validation accepts."""
    technique: Technique = TECHNIQUES.load(name)()
    model = model_of(small_llama())
    base = Candidate("base", "llamacpp", model, LlamaCppSettings().resolved(4096).as_json())
    for settings in technique.options(situation(model)):
        LlamaCppSettings.from_json(technique.apply(base, settings).engine_settings)
        assert technique.words(settings).isprintable()


def test_replicas_share_out_and_never_below_one(model_of: Callable[[Gguf], Model]) -> None:
    base = Candidate("base", "llamacpp", model_of(small_llama()), {"threads": 3, "slots": 5})
    found = Replicas().apply(base, {"replicas": 2})
    assert found.replicas == 2
    assert (found.engine_settings["threads"], found.engine_settings["slots"]) == (1, 3)
    assert found.engine_settings["batch_threads"] == 1


def test_replicas_need_as_many_cores_and_streams(model_of: Callable[[Gguf], Model]) -> None:
    model = model_of(small_llama())
    assert [o["replicas"] for o in Replicas().options(situation(model))] == [2, 4]
    assert Replicas().options(situation(model, threads=1)) == []
    assert [o["replicas"] for o in Replicas().options(situation(model, streams=2))] == [2]


def test_one_thread_is_not_made_fewer(model_of: Callable[[Gguf], Model]) -> None:
    model = model_of(small_llama())
    assert Threads().options(situation(model, threads=1)) == []
    assert Threads().options(situation(model)) == [{"threads": 3}]


def test_a_prompt_that_fits_one_piece_is_not_cut(model_of: Callable[[Gguf], Model]) -> None:
    assert PrefillChunk().options(situation(model_of(small_llama()), tokens_per_request=60)) == []


def test_a_cache_type_whose_blocks_do_not_fit_a_head_is_not_offered(model_of: Callable[[Gguf], Model]) -> None:
    assert KvCache().options(situation(model_of(small_llama(width=64)))) == []  # heads of 16
    assert KvCache().options(situation(model_of(small_llama(width=128)))) == [{"kv_type": "q8_0"}]
