from typing import Any

from paretoken.report.contributions import contributions, contributions_fact, shares
from paretoken.report.reading import Reading
from tests.report.sample import WINNER, invalid, sample
from tests.report.sample_choice import contributions as stored
from tests.report.sample_variants import of_before


def test_each_technique_is_told_alone_and_taken_out() -> None:
    found = contributions(Reading(sample()))
    assert found is not None
    weights, slots, cache = found["rows"]
    assert (weights["alone"], weights["alone_words"]) == ("1.16× (1.12 to 1.20×)", "helps")
    assert (slots["removed_words"], slots["inside"]) == ("helps inside the winner", "1.40×")
    assert (cache["alone_words"], cache["removed"]) == ("not settled", "not measured")
    assert cache["missing"].startswith("the budget ended")
    assert (found["product"], found["metric"]) == ("1.40×", "output tokens a second")


def test_what_it_brings_is_one_over_the_winner_without_it() -> None:
    inside = shares(Reading(sample()))[0].inside
    assert inside.value is not None and inside.low is not None and inside.high is not None
    assert round(inside.value, 3) == 1.34
    assert inside.low < inside.value < inside.high


def test_the_fact_says_what_is_not_settled_or_not_measured() -> None:
    result = sample()
    result["contributions"]["rows"][0]["alone"] = None
    fact = contributions_fact(Reading(result))
    assert fact is not None
    assert fact.clauses == (
        "Q8_0 weights not measured",
        "8 slots 1.21×",
        "prompt cache 1.01× (not settled)",
        "together 1.62×",
        "the winner without Q8_0 weights 0.75×, without 8 slots 0.72×",
    )


def test_a_hurtful_technique_is_not_praised() -> None:
    result = sample()
    row = result["contributions"]["rows"][1]
    row["alone"]["verdict"], row["removed"]["verdict"] = "worse", "better"
    found = contributions(Reading(result))
    assert found is not None
    assert found["rows"][1]["alone_words"] == "hurts"
    assert found["rows"][1]["removed_words"] == "the winner would be better without it"
    row["removed"]["ratio"] = {"value": 1.13, "ci95": [1.03, 1.24]}
    fact = contributions_fact(Reading(result))
    assert fact is not None
    assert (fact.head, fact.clauses[0]) == ("Better without", "8 slots, 1.13× (1.03 to 1.24×)")


def test_nothing_is_told_where_nothing_was_taken_apart_or_a_doubt_forbids_it() -> None:
    documents: list[dict[str, Any]] = [of_before(), {"contributions": None}, {"contributions": []}, {}]
    for result in documents:
        assert contributions(Reading(result)) is None
        assert contributions_fact(Reading(result)) is None
    forbidden = {**invalid(), "contributions": stored(WINNER.label)}
    assert contributions(Reading(forbidden)) is None
