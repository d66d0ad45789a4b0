"""The engines that ship, under the suite that plugins inherit."""

import pytest

from paretoken.core.candidate import Model
from paretoken.engines.conformance import EngineConformance, Subject
from paretoken.engines.llamacpp import LlamaCpp, LlamaCppSettings
from paretoken.engines.null import Null, NullSettings
from paretoken.engines.script import Script, ScriptedSettings
from paretoken.engines.scripted import Scripted


class TestNull(EngineConformance):
    def subject(self) -> Subject:
        return Subject(Null(), NullSettings())


class TestScripted(EngineConformance):
    def subject(self) -> Subject:
        return Subject(Scripted(), ScriptedSettings(scripts=(Script(ttft_s=0.01, gap_s=(0.002, 0.001)), Script())))


@pytest.mark.engine
class TestLlamaCpp(EngineConformance):
    @pytest.fixture(autouse=True)
    def _model(self, smollm2: Model) -> None:
        self.path = smollm2.path

    def subject(self) -> Subject:
        # One thread: tests run beside other work, and spinning threads collapse under contention.
        return Subject(LlamaCpp(), LlamaCppSettings(threads=1, slots=2, context_per_slot=512), self.path)
