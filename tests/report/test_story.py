from collections.abc import Callable
from typing import Any

import pytest

from paretoken.core.doubt import Doubt
from paretoken.report.fact import Fact
from paretoken.report.reading import Reading
from paretoken.report.story import ending, facts, headline, lede, recommendation
from tests.report.sample import (
    BASELINE,
    ENDINGS,
    HAND,
    Q8_0,
    WINNER,
    behaviour,
    effect,
    hand_setting_wins,
    interrupted,
    invalid,
    not_settled,
    nothing_recommended,
    sample,
)
from tests.report.sample_variants import of_before


def fact(result: dict[str, Any], head: str) -> Fact:
    return next(found for found in facts(Reading(result)) if found.head == head)


@pytest.mark.parametrize(("name", "make"), ENDINGS.items())
def test_each_ending_is_known(name: str, make: Callable[[], dict[str, Any]]) -> None:
    assert ending(Reading(make())) == name


def test_the_headline_says_how_much_and_what_of_the_answers() -> None:
    assert headline(Reading(sample())) == (
        "Q8_0 · 8 slots: 1.62× as many tokens a second, with answers inside the margin."
    )


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("equivalent", "with unchanged answers"),
        ("changed", "but the answers changed"),
        ("inconclusive", "not settled"),
        ("fail", "broken"),
        ("a new word", "not checked"),
    ],
)
def test_the_headline_never_hides_the_answers(verdict: str, said: str) -> None:
    result = sample()
    result["verdicts"]["behaviour"]["verdict"] = verdict
    assert said in headline(Reading(result))


def test_other_weights_without_a_check_are_not_called_unchanged() -> None:
    result = sample()
    result["verdicts"]["behaviour"] = None
    assert "not checked" in headline(Reading(result))
    assert fact(result, "Answers").clauses[0] == "not checked, so nothing is claimed about them"


def test_the_same_weights_are_called_untouched() -> None:
    assert fact(hand_setting_wins(), "Answers").text == (
        "the weights are untouched; the service settings move only rounding"
    )


def test_the_hand_setting_may_be_the_best_found() -> None:
    result = hand_setting_wins()
    best = "The expert's setting is the best found; nothing"
    assert headline(Reading(result)) == f"{best} that kept its answers beat it beyond the interval."
    result["refused"] = []
    assert headline(Reading(result)) == f"{best} beat it beyond the interval."


def test_a_faster_finalist_that_changed_the_answers_is_not_denied() -> None:
    result = hand_setting_wins()
    result["verdicts"]["behaviour"] = behaviour("changed", 0.2, (0.1, 0.3), 0.8, 512)
    result["refused"] = []
    assert "nothing that kept its answers beat it" in headline(Reading(result))


def test_a_finalist_that_was_not_chosen_is_told_with_its_interval() -> None:
    result = hand_setting_wins()
    result["finals"]["by_label"][WINNER.label]["vs_hand_setting"] = [
        effect("output_tok_s", "unknown", 1.05, 0.99, 1.12, blocks_to_settle=4)
    ]
    said = fact(result, f"Not chosen, {WINNER.label}").clauses
    assert "not settled, 1.05× (95 %: 0.99 to 1.12×)" in said[0]
    assert said[1:] == ("against the hand setting", "4 more blocks needed")


def test_a_fatal_doubt_leaves_no_number_in_the_headline() -> None:
    result = sample()
    result["doubts"].append(Doubt("client_saturated", "the client used 99 % of its core").as_json())
    said = f"{headline(Reading(result))} {lede(Reading(result))}"
    assert said.startswith("No verdict: the client was the limit")
    assert not any(char.isdigit() for char in said)


def test_an_invalid_effect_alone_forbids_a_verdict() -> None:
    result = sample()
    result["verdicts"]["vs_baseline"][0].update(verdict="invalid", reason="realised lengths differ")
    assert headline(Reading(result)) == "No verdict: realised lengths differ."


def test_an_invalid_study_shows_what_was_seen_and_what_to_do() -> None:
    first = facts(Reading(invalid()))[0]
    assert (first.head, first.clauses[0]) == ("Doubt, client saturated", "the client used 99 % of its core")
    assert first.clauses[1].startswith("do: ")


def test_an_unknown_verdict_is_never_called_faster() -> None:
    reading = Reading(not_settled())
    assert headline(reading).startswith("Not settled whether Q8_0 · 8 slots is faster")
    speed = facts(reading)[0]
    assert speed.head == "Speed, not settled"
    assert "12 more blocks needed" in speed.text
    assert "cheaper" not in speed.text


@pytest.mark.parametrize(("word", "said"), [("same", "is as fast: 1.04×"), ("worse", "is slower: 1.04×")])
def test_a_recommendation_that_did_not_help_is_not_called_unsettled(word: str, said: str) -> None:
    result = not_settled()
    result["verdicts"]["vs_baseline"][0]["verdict"] = word
    assert said in headline(Reading(result))


def test_speed_and_both_waits_are_said_with_their_intervals() -> None:
    assert fact(sample(), "Faster").clauses == (
        "71.3 instead of 44.1 tok/s, 1.62× (95 %: 1.55 to 1.68×)",
        "38 % cheaper (36 to 41 %)",
    )
    assert "later, 4.27× (95 %: 4.13 to 4.41×)" in fact(sample(), "Each next token").text


def test_what_got_worse_is_not_left_out_of_the_lede() -> None:
    assert "each next token after 97.2 instead of 22.5 ms" in lede(Reading(sample()))


def test_the_hand_setting_is_compared_too() -> None:
    assert fact(sample(), "Against the hand setting").text == (
        "faster, 1.34× (1.29 to 1.39×); first word sooner 0.81×, next sooner 0.75×"
    )


def test_at_one_stream_the_hand_setting_is_the_baseline_and_is_not_compared() -> None:
    result = sample()
    result["hand_setting"] = result["baseline"]
    assert "Against the hand setting" not in [found.head for found in facts(Reading(result))]


def test_a_change_of_size_is_named_beside_the_speed() -> None:
    assert recommendation(Reading(sample())).clauses[-1] == "larger but faster"
    result = sample()
    for holder in (result["recommended"], *result["trials"], *result["candidates"]):
        model = holder.get("candidate", {}).get("model", holder)
        if model.get("bytes") == Q8_0.bytes:
            model["bytes"] = 50_000_000
    result["verdicts"]["vs_baseline"][0].update(verdict="better", ratio={"value": 1.2, "ci95": [1.1, 1.3]})
    assert recommendation(Reading(result)).clauses[-1] == "smaller and faster"


def test_a_smaller_context_is_not_lost_silently() -> None:
    result = sample()
    assert "context 512 tokens a slot instead of 8192" in recommendation(Reading(result)).clauses
    result["recommended"]["candidate"]["engine_settings"]["context_per_slot"] = 8192
    assert "context" not in recommendation(Reading(result)).text


def test_service_settings_that_nobody_checked_are_not_called_harmless() -> None:
    result = hand_setting_wins()
    result["verdicts"]["intact"] = None
    assert "was not checked" in fact(result, "Answers").text
    for name in ("hand_setting", "recommended"):
        result[name]["candidate"]["engine_settings"]["slots"] = 1
    assert fact(result, "Answers").text == "the weights are untouched"


def test_the_fastest_of_the_refused_is_named_with_its_numbers() -> None:
    result = sample()
    slow = {**result["refused"][0], "label": "Q4_0 · 4 slots", "metrics": {"output_tok_s": {"value": 60.0}}}
    result["refused"].insert(0, slow)
    assert fact(result, "Refused").text == (
        "Q4_0 · 8 slots (93.4 tok/s): KLD 0.33 nat (0.29 to 0.37), margin 0.01; "
        "69.5 % same first choice at 256 positions; and 1 more"
    )


def test_a_refusal_for_another_reason_says_that_reason() -> None:
    result = sample()
    result["refused"][0].update(behaviour=None, reason="its answers are degenerate text")
    assert "its answers are degenerate text" in fact(result, "Refused").text


def test_nothing_recommended_says_why_and_what_was_measured() -> None:
    result = interrupted()
    assert recommendation(Reading(result)).text == "nothing; the search was interrupted before the finals"
    assert fact(result, "Screened, Q4_1 as given · 8 slots").text == "53.2 tok/s"
    heads = [found.head for found in facts(Reading(result))]
    assert not any("aster" in head for head in heads)


def test_a_small_share_of_the_limit_is_shown_as_measured() -> None:
    said = "41 % of memory bandwidth (15.8 GB/s); no step can take less than 9.20 ms"
    assert fact(of_before(), "Limit").text == said
    assert fact(sample(), "Limit").clauses[0].startswith("memory bandwidth binds the winner")


def with_slo(result: dict[str, Any], **verdicts: tuple[str, float]) -> dict[str, Any]:
    """The sample under an SLO on the first word; `verdicts` of its three finalists, with the value in ms."""
    result["objective"] = {**result["objective"], "name": "chat"}
    for label, (verdict, value_ms) in zip((BASELINE.label, HAND.label, WINNER.label), verdicts.values(), strict=True):
        limit = {"stat": "p95", "metric": "ttft", "limit_ms": 2000.0}
        result["finals"]["by_label"][label]["slo"] = [{**limit, "value_ms": value_ms, "ci95": None, "verdict": verdict}]
    return result


def test_an_slo_is_told_with_what_became_of_it() -> None:
    result = with_slo(sample(), baseline=("missed", 5610.0), hand=("missed", 2460.0), winner=("met", 1490.0))
    assert fact(result, "SLO for chat").clauses == ("p95 ttft 1.49 s of 2 s, met",)
    assert not [found for found in facts(Reading(result)) if found.head == "100 ms"]


def test_who_alone_keeps_the_slo_is_recommended_for_that() -> None:
    result = with_slo(sample(), baseline=("missed", 5610.0), hand=("missed", 2460.0), winner=("met", 1490.0))
    result["verdicts"]["vs_baseline"] = [effect("output_tok_s", "same", 1.0, 0.98, 1.02)]
    assert ending(Reading(result)) == "meets_slo"
    said = f"{WINNER.label} keeps the SLO, which the model as it is does not: p95 ttft 5.61 s of 2 s, missed."
    assert headline(Reading(result)) == said


def test_where_nothing_meets_the_slo_the_headline_says_how_far_it_is() -> None:
    result = with_slo(nothing_recommended(), baseline=("missed", 9.0), hand=("missed", 9.0), winner=("missed", 9.0))
    result["why"] = "nothing meets the SLO; nearest F: p95 ttft 3 s, limit 2 s, 1.5 times it"
    assert headline(Reading(result)) == f"Nothing can be recommended: {result['why']}."


def test_the_headline_names_what_the_objective_improved() -> None:
    result = sample()
    result["objective"] = {"minimise": "e2e_p50_ms"}
    result["verdicts"]["vs_baseline"].append(effect("e2e_p50_ms", "better", 0.71, 0.65, 0.78))
    assert "0.71× the time for a whole answer" in headline(Reading(result))
