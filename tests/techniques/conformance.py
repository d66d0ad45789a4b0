"""What holds for every technique, built in or from outside. A plugin's tests inherit `TechniqueConformance`."""

import json
from pathlib import Path
from typing import ClassVar

import pytest

from paretoken.core.candidate import MODEL_LEVEL, SERVICE_LEVEL, Candidate, Model
from paretoken.models.find import resolve
from paretoken.models.gguf_header import read_header
from paretoken.techniques.base import Situation, Technique, described

from ..models.gguf_builder import small_llama


class TechniqueConformance:
    technique: ClassVar[Technique]

    @pytest.fixture
    def model(self, tmp_path: Path) -> Model:
        path = tmp_path / "base.gguf"
        path.write_bytes(small_llama(width=128).build())  # heads of 32: the blocks of small types fit
        return resolve(str(path), tmp_path / "cache")

    @pytest.fixture
    def candidate(self, model: Model) -> Candidate:
        return Candidate("base", self.technique.engines[0], model, {"threads": 2, "what nobody sets": 7})

    @pytest.fixture
    def situation(self, model: Model) -> Situation:
        return Situation(
            read_header(model.path), self.technique.engines[0], streams=8, tokens_per_request=200, threads=4
        )

    def test_its_row_of_the_map_is_whole(self) -> None:
        row = described(self.technique)
        assert row["level"] in (MODEL_LEVEL, SERVICE_LEVEL)
        assert all(row.values())
        assert all("\n" not in str(value) for value in row.values())

    def test_options_are_plain_distinct_and_repeatable(self, situation: Situation) -> None:
        options = self.technique.options(situation)
        assert options
        assert options == self.technique.options(situation)
        texts = [json.dumps(option, sort_keys=True) for option in options]
        assert len(set(texts)) == len(texts)

    def test_it_offers_nothing_for_an_engine_that_it_does_not_know(self, situation: Situation) -> None:
        other = Situation(situation.header, "an engine of tomorrow", situation.streams, situation.tokens_per_request)
        assert self.technique.options(other) == []

    def test_each_option_is_switched_on_and_recorded(
        self, situation: Situation, candidate: Candidate, tmp_path: Path
    ) -> None:
        keys = {candidate.key}
        for settings in self.technique.options(situation):
            changed = self.technique.apply(candidate, settings, tmp_path / "cache")
            applied = changed.techniques[-1]
            assert (applied.technique, applied.level) == (self.technique.name, self.technique.level)
            assert dict(applied.settings) == settings
            assert changed.engine == candidate.engine
            assert changed.engine_settings["what nobody sets"] == 7
            keys.add(changed.key)
        assert len(keys) == len(self.technique.options(situation)) + 1

    def test_only_the_model_level_may_touch_the_model(
        self, situation: Situation, candidate: Candidate, tmp_path: Path
    ) -> None:
        changed = self.technique.apply(candidate, self.technique.options(situation)[0], tmp_path / "cache")
        assert changed.model == candidate.model or self.technique.level == MODEL_LEVEL
