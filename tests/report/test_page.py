from typing import Any

from paretoken.report.html import render_html
from paretoken.report.page import cards, doubts, moment, page, refused
from paretoken.report.page_tables import candidates, flat, limits, wait
from paretoken.report.reading import Reading
from tests.report.sample import BASELINE, HAND, WINNER, WRONG, hand_setting_wins, invalid, nothing_recommended, sample


def card(result: dict[str, Any], title: str) -> dict[str, Any]:
    return next(found for found in cards(Reading(result)) if found["title"] == title)


def test_a_card_shows_before_after_and_the_verdicts() -> None:
    found = card(sample(), "Output")
    assert [bar["label"] for bar in found["bars"]] == [BASELINE.label, HAND.label, WINNER.label]
    assert [bar["percent"] for bar in found["bars"]] == [61.9, 74.6, 100.0]
    said = [f"{chip['word']} {chip['join']} the {chip['against']}: {chip['ratio']}" for chip in found["chips"]]
    assert said == [
        "faster than the baseline: 1.62× (1.55 to 1.68×)",
        "faster than the hand setting: 1.34× (1.29 to 1.39×)",
    ]


def test_what_got_worse_is_on_its_card() -> None:
    chips = card(sample(), "Each next token (median)")["chips"]
    assert (chips[0]["word"], chips[0]["kind"]) == ("later", "worse")


def test_cost_is_said_in_percent() -> None:
    chips = card(sample(), "Machine time for a million tokens")["chips"]
    assert f"{chips[0]['word']} {chips[0]['join']}" == "38 % cheaper (36 to 41 %) than"


def test_cost_is_money_where_a_price_was_given() -> None:
    result = sample()
    for side in result["finals"]["by_label"].values():
        cost = side["metrics"].pop("machine_s_per_mtok")["output"]
        side["metrics"]["cost_per_mtok"] = {"output": cost, "currency": "USD", "price_per_hour": 1.0}
    assert card(result, "Cost of a million tokens")["bars"][0]["value"] == "22,676 USD"


def test_nothing_is_compared_with_itself_or_claimed_for_nobody() -> None:
    assert [chip["against"] for chip in card(hand_setting_wins(), "Output")["chips"]] == ["baseline"]
    assert card(nothing_recommended(), "Output")["chips"] == []


def test_an_invalid_study_has_no_headline_numbers() -> None:
    assert cards(Reading(invalid())) == []


def test_candidates_say_size_and_speed_apart() -> None:
    rows = {row["label"]: row for row in candidates(Reading(sample()))}
    assert rows[WRONG.label]["in_words"] == "smaller and faster"
    assert rows[WINNER.label]["in_words"] == "larger but faster"
    assert rows[BASELINE.label]["in_words"] == ""
    assert rows[WINNER.label]["first_word"].startswith("p95 ")
    assert rows[WRONG.label]["first_word"] == "p95 1.33 s (at least 1.31)"


def test_a_refusal_shows_where_two_answers_part() -> None:
    pair = refused(Reading(sample()))[0]["answers"][0]
    assert pair["alike"] == "The sky is blue because "
    assert pair["baseline"].startswith("air scatters")
    assert pair["candidate"].startswith("of the way")


def test_models_that_were_not_looked_at_are_named_with_the_reason() -> None:
    result = sample()
    result["left_out"] = [{"label": "Q5_0", "reason": "not looked at: <b>Q4_0</b> lies 0.48 nat off"}]
    page = render_html(result)
    assert "1 more model was not looked at" in page
    assert "<dd>Not looked at: &lt;b&gt;Q4_0&lt;/b&gt; lies 0.48 nat off</dd>" in page
    assert "not looked at" not in render_html(sample())


def test_answers_keep_their_lines_and_lose_what_moves_a_cursor() -> None:
    result = sample()
    result["refused"][0]["differing_answers"] = [
        {"prompt": "p", "baseline": "a\nb", "candidate": "a\n\x1b[31m\u202ec", "first_divergence": 1}
    ]
    pair = refused(Reading(result))[0]["answers"][0]
    assert pair["alike"] == "a\n"
    assert pair["candidate"] == "�[31m�c"


def test_the_wait_is_predicted_twice_and_measured() -> None:
    rows = wait(Reading(sample()))
    assert [row["label"] for row in rows] == [BASELINE.label, WINNER.label]
    assert rows[0]["simple"] == "723 ms (-88 %)"
    assert rows[0]["model"].endswith("(-1 %)")


def test_limits_have_units() -> None:
    assert dict(limits(Reading(sample())))["Read bandwidth of this machine"] == "15.8 GB/s"


def test_nested_facts_become_dotted_lines() -> None:
    assert flat({"hardware": {"cores": 2}, "seed": 0, "x": None, "flags": ["a", "b"]}) == [
        ("hardware.cores", "2"),
        ("seed", "0"),
        ("x", "not known"),
        ("flags", "a, b"),
    ]


def test_moments_are_for_people() -> None:
    assert moment("2026-11-30T22:41:30.123456+00:00") == "2026-11-30 22:41 UTC"
    assert moment("yesterday") == "yesterday"
    assert moment(None) == ""


def test_every_section_is_there() -> None:
    found = page(Reading(sample()))
    names = ("facts", "cards", "candidates", "refused", "doubts", "plan", "trials", "limits")
    assert all(found[name] for name in (*names, "contributions", "knee", "sensitivity", "commands"))
    assert page(Reading(nothing_recommended()))["commands"] == []


def test_a_doubt_that_was_raised_often_is_told_once() -> None:
    result = sample()
    result["doubts"].append({**result["doubts"][1], "seen": "load average 2.1 before 1 of 18 blocks"})
    found = doubts(Reading(result))
    assert [doubt["name"] for doubt in found] == ["host contended", "baseline already quantised"]
    assert len(found[0]["seen"]) == 2


def test_the_page_says_what_context_was_given_up() -> None:
    said = {found.head: found.text for found in page(Reading(sample()))["facts"]}
    assert said["Given up"] == "context 512 tokens a slot instead of 8192"
    assert "Given up" not in {found.head for found in page(Reading(invalid()))["facts"]}
