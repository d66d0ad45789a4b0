"""Texts of two servers: made answers for the verdicts, scripted servers for the way there, the real one as `engine`."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from paretoken.core.candidate import Model
from paretoken.engines.base import Running
from paretoken.engines.script import Script, ScriptedSettings
from paretoken.engines.scripted import Scripted
from paretoken.errors import EngineError
from paretoken.verification.check_texts import Launch, check_texts, judge_texts
from paretoken.verification.floors import Floors
from paretoken.verification.greedy import CHATS
from paretoken.verification.partings import Compared, Parting

from .test_intact import FLOORS


def counted(
    near_ties: int = 10, near: int = 0, clear: int = 180, hard: int = 0, unknown: int = 0, answers: int = 6
) -> Compared:
    gaps = [0.01] * near + [1.0] * hard + [None] * unknown
    partings = tuple(Parting(0, 0, 3, gap, "a", "b") for gap in gaps)
    return Compared(answers, near_ties + clear, near_ties, clear, partings)


NEVER = counted()


def test_the_very_same_tokens_are_intact() -> None:
    found = judge_texts(counted(), NEVER, change="ngram-simple")
    assert (found.verdict, found.evidence, found.change) == ("intact", "text", "ngram-simple")


def test_few_equal_tokens_show_nothing() -> None:
    assert judge_texts(counted(3, clear=60), NEVER).verdict == "inconclusive"
    assert judge_texts(Compared(), NEVER).verdict == "inconclusive"


def test_a_hard_parting_where_the_server_has_none_is_not_intact() -> None:
    assert judge_texts(counted(hard=1), NEVER).verdict == "not_intact"
    assert judge_texts(counted(hard=1, unknown=1), NEVER).verdict == "not_intact"


def test_partings_are_held_against_the_models_own_rounding() -> None:
    found = judge_texts(counted(near_ties=60, near=10, clear=700, hard=5), NEVER, FLOORS)
    assert found.verdict == "intact"
    assert "11" not in found.reason and "15 of 6 answers part" in found.reason
    assert judge_texts(counted(near_ties=60, near=10, clear=700, hard=60), NEVER, FLOORS).verdict == "not_intact"


def test_a_few_near_tie_partings_show_too_little() -> None:
    assert judge_texts(counted(near=1), NEVER, FLOORS).verdict == "inconclusive"


def test_a_lead_that_is_not_known_is_not_taken_for_a_near_tie() -> None:
    found = judge_texts(counted(near_ties=60, clear=700, unknown=1), NEVER, FLOORS)
    assert found.verdict == "inconclusive"
    assert "not known" in found.reason


def test_where_there_is_only_text_any_difference_counts() -> None:
    assert judge_texts(Compared(6), Compared(6), text_only=True).verdict == "intact"
    found = judge_texts(counted(0, clear=0, unknown=1), Compared(6), FLOORS, text_only=True)
    assert found.verdict == "not_intact"


def test_the_document_can_be_written() -> None:
    found = judge_texts(counted(near=1, hard=1, unknown=1), NEVER, FLOORS)
    document = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert {"verdict", "reason", "change", "evidence", "positions", "hard_flips", "hazard", "repeat"} <= set(document)
    assert [one["near_tie"] for one in document["differing"]] == [True, False, None]


def scripted(*scripts: Script, **settings: Any) -> Launch:
    return lambda: Scripted().launch(None, ScriptedSettings(scripts=scripts or (Script(),), **settings))


def test_scripted_servers_that_say_the_same_are_intact() -> None:
    found = check_texts(scripted(), scripted(Script(ttft_s=0.01)), change="2 replicas")
    assert (found.verdict, found.evidence) == ("intact", "text")
    assert found.found.answers == len(CHATS)
    assert found.as_json()["drafts"]["after"] == {"draft_n": 0, "draft_n_accepted": 0, "acceptance": None}


def test_a_speculation_that_never_drafted_shows_nothing() -> None:
    found = check_texts(scripted(), scripted(), drafts=True)
    assert found.verdict == "inconclusive"
    assert "not a token was drafted" in found.reason


def test_scripts_in_turn_are_compared_round_by_round() -> None:
    turns = tuple(Script(texts=(f"answer {i}",)) for i in range(4))
    assert check_texts(scripted(*turns), scripted(*turns)).verdict == "intact"


def test_a_scripted_server_that_says_otherwise_is_not_intact() -> None:
    found = check_texts(scripted(), scripted(*[Script()] * 5, Script(texts=(" w0", " other"))))
    assert found.verdict == "not_intact"
    assert found.found.partings[0].prompt == 5


def test_parts_of_a_server_are_asked_in_turn() -> None:
    class Twins:
        def __init__(self) -> None:
            self.parts = (scripted(Script(texts=("a",)))(), scripted(Script(texts=("b",)))())

        def __enter__(self) -> Running:
            return self  # type: ignore[return-value]

        def __exit__(self, *_: object) -> None:
            for part in self.parts:
                part.stop()

    launch: Callable[[], Any] = Twins
    found = check_texts(scripted(Script(texts=("a",))), launch)
    assert found.verdict == "not_intact"
    assert {(part.round, part.prompt) for part in found.found.partings} == {
        *((0, prompt) for prompt in (1, 3, 5)),
        *((1, prompt) for prompt in (0, 2, 4)),
    }


@pytest.mark.parametrize(
    "settings", [{"die_at_request": 3}, {"scripts": (Script(status=503),)}, {"scripts": (Script(fault="truncate"),)}]
)
def test_a_server_that_breaks_is_an_error_and_no_verdict(settings: dict[str, Any]) -> None:
    with pytest.raises(EngineError):
        check_texts(scripted(), lambda: Scripted().launch(None, ScriptedSettings(**settings)))


def real(model: Model, **settings: Any) -> tuple[Launch, dict[str, Any]]:
    from paretoken.engines.llamacpp import LlamaCpp, LlamaCppSettings

    given = LlamaCppSettings(**settings)
    return lambda: LlamaCpp().launch(model.path, given), LlamaCpp().request_extra(given)


def unasked() -> Floors:
    raise AssertionError("no answer should have parted")


@pytest.mark.engine
def test_ngram_speculation_says_the_very_same(smollm2: Model) -> None:
    before, after = real(smollm2), real(smollm2, speculation="ngram-simple")
    found = check_texts(before[0], after[0], floors=unasked, drafts=True, change="speculation ngram-simple")
    assert (found.verdict, found.evidence) == ("intact", "text")
    assert found.found.tokens > 150
    assert found.found.near_ties > 0
    drafts = found.as_json()["drafts"]
    assert drafts["before"]["draft_n"] == 0
    assert drafts["after"]["draft_n_accepted"] > 20


@pytest.mark.engine
def test_a_prompt_cache_changes_no_more_than_where_it_is_left_out(smollm2: Model) -> None:
    before, after = real(smollm2), real(smollm2, prompt_cache=False)
    found = check_texts(before[0], after[0], extra_after=after[1], floors=unasked)
    assert found.verdict == "intact"


@pytest.mark.engine
def test_another_model_is_not_intact(smollm2: Model) -> None:
    from paretoken.techniques.model.quantize import quantize

    found = check_texts(real(smollm2)[0], real(quantize(smollm2, "Q4_0"))[0])
    assert found.verdict == "not_intact"
    assert found.found.hard_flips > 0


@pytest.mark.engine
def test_a_shorter_sampler_chain_is_intact_until_a_request_asks_for_what_it_left_out(smollm2: Model) -> None:
    launch, chain = real(smollm2)[0], {"samplers": ["top_k", "top_p", "min_p", "temperature"]}
    assert check_texts(launch, launch, extra_after=chain, floors=unasked).verdict == "intact"
    penalty = {"frequency_penalty": 1.5}
    found = check_texts(launch, launch, extra_before=penalty, extra_after={**penalty, **chain})
    assert found.verdict != "intact"
    assert found.found.partings
