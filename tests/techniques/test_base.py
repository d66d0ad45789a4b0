import pytest

from paretoken.errors import UsageError
from paretoken.techniques import TECHNIQUES
from paretoken.techniques.model.quantize import Quantize
from paretoken.techniques.service.batching import Batching

from .conformance import TechniqueConformance


class TestQuantize(TechniqueConformance):
    technique = Quantize()


class TestBatching(TechniqueConformance):
    technique = Batching()


def test_every_registered_technique_bears_its_own_name() -> None:
    assert {"batching", "kv_cache", "quantize", "replicas", "samplers", "speculate"} <= set(TECHNIQUES.names())
    for name in TECHNIQUES.names():
        assert TECHNIQUES.load(name)().name == name


def test_an_unknown_technique_lists_what_there_is() -> None:
    with pytest.raises(UsageError, match=r"there are: batching, .*quantize"):
        TECHNIQUES.load("magic")
