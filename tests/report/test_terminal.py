from collections.abc import Callable
from typing import Any

import pytest

from paretoken.report.fact import Fact
from paretoken.report.terminal import MAX_CHARS, MAX_LINES, last_screen, lines_of
from tests.report.sample import ENDINGS, STUDY, WINNER, interrupted, invalid, nothing_recommended, sample
from tests.report.sample_variants import hostile, many_trials, of_before

ALL = [*ENDINGS.values(), interrupted, of_before, many_trials, hostile]


@pytest.mark.parametrize("make", ALL)
def test_at_most_twelve_plain_lines(make: Callable[[], dict[str, Any]]) -> None:
    lines = last_screen(make())
    assert 1 <= len(lines) <= MAX_LINES
    assert all(len(line) <= MAX_CHARS and line.isprintable() for line in lines)
    assert lines[-1].startswith(("Report: ", "Serve it: "))


def test_the_last_screen_answers_what_one_asks() -> None:
    screen = "\n".join(last_screen(sample()))
    for said in (
        "Faster: 71.3 instead of 44.1 tok/s, 1.62× (95 %: 1.55 to 1.68×); 38 % cheaper (36 to 41 %)",
        "First word: after 1.11 instead of 5.05 s",
        "Answers: changed a little, inside the margin",
        "Against the hand setting: faster, 1.34×",
        "Each alone: Q8_0 weights 1.16×; 8 slots 1.21×; prompt cache 1.01× (not settled); together 1.62×",
        "Refused: Q4_0 · 8 slots",
        "Limit: memory bandwidth binds the winner: 41 %",
        "Doubts: 2, the gravest: host contended",
        f"Report: studies/{STUDY}/report.html",
        f"Serve it: paretoken serve {STUDY}",
    ):
        assert said in screen


@pytest.mark.parametrize("make", [nothing_recommended, invalid, interrupted])
def test_nothing_is_served_when_nothing_is_recommended(make: Callable[[], dict[str, Any]]) -> None:
    assert not any(line.startswith("Serve it") for line in last_screen(make()))


def test_nothing_is_served_where_a_doubt_forbids_a_verdict() -> None:
    result = sample()
    result["doubts"] = invalid()["doubts"]
    assert result["recommended"] is not None
    assert not any(line.startswith("Serve it") for line in last_screen(result))


def test_an_invalid_study_shows_no_speed() -> None:
    screen = "\n".join(last_screen(invalid()))
    assert "No verdict: the client was the limit" in screen
    assert "aster" not in screen.replace("a faster machine", "")


def test_the_path_is_the_callers_and_never_cut() -> None:
    path = "/somewhere/" + "deep/" * 40 + "report.html"
    assert f"Report: {path}" in last_screen(sample(), report_path=path)


def test_without_a_page_no_path_is_shown() -> None:
    assert not any(line.startswith("Report") for line in last_screen(sample(), report_path=None))


def test_hostile_labels_stay_one_short_printable_line() -> None:
    result = sample()
    hostile = "evil\x1b[2J\n" + "x" * 500
    result["recommended"]["label"] = hostile
    result["refused"][0]["label"] = hostile
    result["refused"][0]["reason"] = hostile
    lines = last_screen(result)
    assert len(lines) <= MAX_LINES
    assert all(line.isprintable() and len(line) <= MAX_CHARS for line in lines)


def test_what_does_not_fit_goes_into_spare_lines_first_facts_first() -> None:
    long = Fact("A", ("a" * 60, "b" * 60, "c" * 30))
    short = Fact("B", ("d",))
    assert lines_of([long, short], room=2) == ["A: " + "a" * 60, "B: d"]
    assert lines_of([long, short], room=3) == ["A: " + "a" * 60, f"  {'b' * 60}; {'c' * 30}", "B: d"]


def test_facts_beyond_the_room_are_left_out() -> None:
    assert len(lines_of([Fact(str(n), ("x",)) for n in range(20)], room=5)) == 5


def test_what_can_be_spared_goes_before_the_last() -> None:
    found = [Fact("A", ("x",)), Fact("B", ("x",), spare=1), Fact("C", ("x",), spare=2), Fact("D", ("x",))]
    assert lines_of(found, room=3) == ["A: x", "B: x", "D: x"]
    assert lines_of(found, room=1) == ["A: x"]


def test_a_document_of_before_has_its_screen() -> None:
    lines = last_screen(of_before())
    assert not any(line.startswith("Each alone") for line in lines)
    assert any(line.startswith("100 ms: ") for line in lines)
    assert any(line.startswith("Limit: 41 % of memory bandwidth") for line in lines)
    assert lines[-1] == f"Serve it: paretoken serve {STUDY}"


def test_the_screen_names_the_candidate() -> None:
    assert WINNER.label in last_screen(sample())[0]
