import pytest

from paretoken.verification.greedy import Said
from paretoken.verification.partings import compared


def said(*tokens: int, gaps: tuple[float | None, ...] | None = None, prompt: int = 0) -> Said:
    leads = (1.0,) * len(tokens) if gaps is None else gaps
    return Said(prompt, " ".join(map(str, tokens)), tokens, leads)


def test_equal_answers_do_not_part_and_all_their_tokens_count() -> None:
    found = compared([(said(1, 2, 3, gaps=(0.05, 1.0, None)),)], [(said(1, 2, 3),)])
    assert (found.answers, found.tokens, found.near_ties, found.clear) == (1, 3, 1, 1)
    assert not found.partings


def test_only_tokens_up_to_the_first_that_differs_count() -> None:
    found = compared([(said(1, 2, 3, 4, gaps=(1.0, 0.05, 0.01, 1.0)),)], [(said(1, 9, 3, 4),)])
    assert (found.tokens, found.near_ties, found.clear) == (2, 1, 1)
    [parting] = found.partings
    assert (parting.at, parting.gap) == (1, 0.05)
    assert (found.near_tie_flips, found.hard_flips, found.unknown_flips) == (1, 0, 0)


def test_the_lead_tells_a_hard_parting_from_a_near_tie() -> None:
    found = compared([(said(1, gaps=(2.0,)), said(1, gaps=(None,)))], [(said(2), said(2))])
    assert (found.near_tie_flips, found.hard_flips, found.unknown_flips) == (0, 1, 1)


def test_an_answer_that_the_reference_gives_too_is_the_same() -> None:
    cached, uncached = (said(1, 2, 3),), (said(1, 2, 7),)
    assert not compared([cached, uncached], [uncached]).partings
    [parting] = compared([cached, uncached], [(said(1, 2, 7, 9),)]).partings
    assert (parting.before, parting.at) == ("1 2 7", 3)


def test_what_was_said_in_an_earlier_round_does_not_count_twice() -> None:
    found = compared([(said(1, 2),)], [(said(1, 9),), (said(1, 9),), (said(8, 9),)])
    assert (found.answers, len(found.partings)) == (2, 2)
    assert [parting.round for parting in found.partings] == [0, 2]


def test_where_one_side_tells_only_text_characters_are_compared() -> None:
    found = compared([(said(1, 2),)], [(Said(0, "1 3"),)])
    [parting] = found.partings
    assert (parting.at, parting.gap, found.tokens) == (2, None, 0)


def test_the_hazard_has_an_upper_end_where_nothing_parts() -> None:
    same = tuple(range(100))
    hazard = compared([(said(*same),)], [(said(*same),)]).as_json()["hazard"]
    assert hazard["value"] == 0
    assert hazard["high95"] == pytest.approx(0.026, abs=0.002)
    assert compared([], []).as_json()["hazard"] is None
