from typing import Any

import pytest

from paretoken.report.chart_behaviour import behaviour_points
from paretoken.report.chart_frontier import wait_points
from paretoken.report.page import page
from paretoken.report.reading import BASELINE, HAND, OTHER, RECOMMENDED, REFUSED, Reading
from paretoken.report.terminal import last_screen
from tests.report.sample import BASELINE as BASE
from tests.report.sample import HAND as BY_HAND
from tests.report.sample import WIDE, WINNER, WRONG, hand_setting_wins, interrupted, invalid, sample


def test_each_label_has_one_role() -> None:
    reading = Reading(sample())
    roles = {judged.label: reading.role(judged.label) for judged in (BASE, BY_HAND, WINNER, WRONG, WIDE)}
    assert roles == {
        BASE.label: BASELINE,
        BY_HAND.label: HAND,
        WINNER.label: RECOMMENDED,
        WRONG.label: REFUSED,
        WIDE.label: OTHER,
    }
    assert Reading(hand_setting_wins()).role(BY_HAND.label) == RECOMMENDED


def test_nothing_is_shown_as_recommended_where_a_doubt_forbids_a_verdict() -> None:
    result = sample()
    result["doubts"] = invalid()["doubts"]
    assert Reading(result).role(WINNER.label) == OTHER


def test_finalists_stand_in_one_order_without_repeats() -> None:
    assert Reading(sample()).finalists == [BASE.label, BY_HAND.label, WINNER.label]
    assert Reading(hand_setting_wins()).finalists == [BASE.label, BY_HAND.label, WINNER.label]
    assert Reading(interrupted()).finalists == [BASE.label, BY_HAND.label]


def test_figures_come_from_the_finals_and_not_from_screening() -> None:
    result = sample()
    result["finals"]["by_label"][WINNER.label]["metrics"]["output_tok_s"]["value"] = 70.0
    assert Reading(result).figure(WINNER.label, "output_tok_s").value == 70.0


def test_statistics_of_two_kinds_are_not_put_side_by_side() -> None:
    result = sample()
    assert Reading(result).tail("ttft_from_due_ms") == "p95"
    result["finals"]["by_label"][BY_HAND.label]["metrics"]["ttft_from_due_ms"]["p95"] = None
    assert Reading(result).tail("ttft_from_due_ms") == "p50"


def test_sizes_and_weights_are_found_wherever_a_candidate_is_described() -> None:
    reading = Reading(sample())
    assert reading.bytes_of(WIDE.label) == WIDE.model.bytes
    assert reading.weights_of(BASE.label) == reading.weights_of(BY_HAND.label) == BASE.model.fingerprint
    assert reading.bytes_of("nobody") is None


def test_documents_of_before_had_all_candidates_in_the_frontier() -> None:
    result = sample()
    rows = Reading(result).candidates
    assert len(rows) > len(result["frontier"])
    result["frontier"] = result.pop("candidates")
    assert Reading(result).candidates == rows


def test_an_effect_that_is_not_there_is_unknown() -> None:
    found = Reading({}).effect("vs_baseline", "output_tok_s")
    assert (found.word, found.ratio.known) == ("unknown", False)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all members of a nested value; of a list only the first, since the others are alike."""
    if isinstance(value, dict):
        return [path, *(p for name, item in value.items() for p in places(item, (*path, name)))]
    if isinstance(value, list) and value:
        return [path, *places(value[0], (*path, 0))]
    return [path]


def small() -> dict[str, Any]:
    """The sample with one member of each sort, so that one can break each member in turn."""
    whole = sample()
    whole["trials"] = [whole["trials"][2]]
    whole["candidates"] = [whole["candidates"][2]]
    by_label = whole["finals"]["by_label"]
    whole["finals"]["by_label"] = {WINNER.label: by_label[WINNER.label]}
    for part in (whole["baseline"], whole["hand_setting"], whole["recommended"], *whole["trials"], *whole["refused"]):
        part["metrics"] = {"output_tok_s": part["metrics"]["output_tok_s"], "tpot_ms": part["metrics"]["tpot_ms"]}
    del whole["provenance"], whole["definitions"]
    return whole


NONSENSE: tuple[Any, ...] = (None, "text\x1b", -1, [{}])


@pytest.mark.parametrize("first", [0, 2])
def test_no_broken_member_breaks_a_report(first: int) -> None:
    """A document from elsewhere may hold anything anywhere; a report of it says less, and never raises."""
    whole = small()
    for index, path in enumerate(places(whole)[1:]):
        nonsense = NONSENSE[(first + index) % len(NONSENSE)]
        parent: Any = whole
        for step in path[:-1]:
            parent = parent[step]
        kept = parent[path[-1]]
        parent[path[-1]] = nonsense
        lines = last_screen(whole)
        assert 1 <= len(lines) <= 12
        page(Reading(whole))
        wait_points(Reading(whole), "tpot_ms")
        behaviour_points(Reading(whole))
        parent[path[-1]] = kept


def test_an_empty_document_has_a_report() -> None:
    assert last_screen({})[0].startswith("Recommended: nothing")
    assert page(Reading({}))["cards"] == []
