import shlex
from collections.abc import Callable
from typing import Any

import pytest

from paretoken.report.choice import commands, details, knee_label, knee_words, sensitivity, serve_command
from paretoken.report.reading import Reading
from tests.report.sample import HALF, STUDY, WINNER, invalid, nothing_recommended, sample
from tests.report.sample_variants import of_before


def test_the_knee_is_said_in_words() -> None:
    result = sample()
    assert knee_words(Reading(result)).startswith(f"The knee of the frontier is {HALF.label}: from here on")
    result["knee"] = {"label": WINNER.label, "why": None}
    assert knee_words(Reading(result)) == f"The recommended, {WINNER.label}, stands at the knee of the frontier."


def test_the_choice_is_shown_to_move_or_to_stay() -> None:
    rows = sensitivity(Reading(sample()))
    assert [(row["label"], row["same"]) for row in rows] == [(HALF.label, ""), (WINNER.label, "the same choice")]


def test_a_launch_command_can_be_pasted_into_a_shell() -> None:
    result = sample()
    found = {command["name"]: command["text"] for command in commands(Reading(result))}
    assert found["Verify it again"] == f"paretoken verify {STUDY}"
    assert shlex.split(found["On your own llama.cpp"]) == result["commands"]["launch"][0]
    result["commands"]["launch"] = [["llama-server", "a; rm\x1b[2J -rf", "two  spaces"]]
    pasted = commands(Reading(result))[-1]["text"]
    assert pasted.isprintable()
    assert shlex.split(pasted) == ["llama-server", "a; rm�[2J -rf", "two  spaces"]


def test_each_process_of_several_has_its_command() -> None:
    result = sample()
    result["commands"]["launch"] = [["taskset", "--cpu-list", str(n), "llama-server"] for n in (0, 1)]
    shown = commands(Reading(result))[-2:]
    assert [command["name"] for command in shown] == [f"On your own llama.cpp, process {n}" for n in (1, 2)]


def test_a_document_of_before_still_says_how_to_serve() -> None:
    reading = Reading(of_before())
    assert commands(reading) == [{"name": "Serve it", "text": f"paretoken serve {STUDY}"}]
    assert (knee_label(reading), knee_words(reading), sensitivity(reading), details(reading)) == (None, "", [], [])


@pytest.mark.parametrize("make", [invalid, nothing_recommended])
def test_nothing_is_offered_that_may_not_be_run(make: Callable[[], dict[str, Any]]) -> None:
    result = {**make(), "commands": sample()["commands"]}
    assert commands(Reading(result)) == []
    assert serve_command(Reading(result)) == ""


def test_a_forbidden_verdict_has_no_knee_and_no_sensitivity() -> None:
    reading = Reading({**sample(), "doubts": invalid()["doubts"]})
    assert knee_label(reading) is None
    assert sensitivity(reading) == []


def test_cache_and_drafts_are_a_line_each() -> None:
    assert details(Reading(sample())) == [
        ("Prompt tokens from the cache", "62 % as given, 71 % recommended"),
        ("Drafted tokens", "34 % accepted; drafts by n-gram, so few that it was switched off"),
    ]
    half_known = {"prompt_cache": {"baseline": {"hit_rate": 0.5}, "recommended": None}, "speculation": None}
    assert details(Reading(half_known)) == [("Prompt tokens from the cache", "50 % as given")]
