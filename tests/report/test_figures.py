import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoken.report.figures import (
    Figure,
    cost_of,
    number,
    plain,
    quantile,
    scalar,
    shorten,
    show_bracket,
    show_interval,
    show_ms,
    show_nat,
    show_number,
    show_rate,
    show_times,
    show_value,
)


@pytest.mark.parametrize(
    ("value_ms", "shown"),
    [
        (0.3, "0.300 ms"),
        (22.54, "22.5 ms"),
        (999.4, "999 ms"),
        (999.6, "1.00 s"),
        (1615.6, "1.62 s"),
        (61_000, "61.0 s"),
        (312_000, "5 min 12 s"),
        (0, "0 ms"),
    ],
)
def test_a_time_is_shown_with_the_unit_that_fits_it(value_ms: float, shown: str) -> None:
    assert show_ms(value_ms) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(71.34, "71.3"), (0.00412, "0.00412"), (9.996, "10.0"), (22_675.7, "22,676"), (0, "0"), (999.6, "1,000")],
)
def test_a_number_has_three_digits_and_no_exponent(value: float, shown: str) -> None:
    assert show_number(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.328, "0.33"), (0.0041, "0.0041"), (0, "0"), (3e-7, "3e-07"), (0.6, "0.60"), (1.04, "1.0"), (12.3, "12")],
)
def test_a_divergence_has_two_digits(value: float, shown: str) -> None:
    assert show_nat(value) == shown


@pytest.mark.parametrize("value", ["12", True, None, math.nan, math.inf, [1], {}])
def test_what_is_not_a_finite_number_is_not_known(value: object) -> None:
    assert number(value) is None
    assert not scalar({"x": {"value": value}}, "x").known


def test_a_missing_figure_keeps_its_reason() -> None:
    figure = scalar(
        {"goodput_share": {"value": None, "ci95": None, "reasons": {"value": "no SLO was stated"}}}, "goodput_share"
    )
    assert (figure.known, figure.reason) == (False, "no SLO was stated")
    assert show_value(figure, show_rate) == "not known"


def test_an_interval_may_be_open() -> None:
    metrics = {"ttft_ms": {"p95": 1600.0, "ci95": {"p95": [1500.0, None]}, "reasons": {"p95": "n = 16 is too few"}}}
    figure = quantile(metrics, "ttft_ms", "p95")
    assert show_interval(figure, show_ms) == "at least 1.50 s"
    assert figure.reason == "n = 16 is too few"


def test_an_interval_says_a_shared_unit_once() -> None:
    assert show_interval(Figure(1.6, 1.52, 1.7), show_times) == "1.52 to 1.70×"
    assert show_interval(Figure(1.0, 993.0, 1190.0), show_ms) == "993 ms to 1.19 s"
    assert show_bracket(Figure(44.1, 42.8, 45.4), show_rate) == "44.1 tok/s (42.8 to 45.4)"


def test_a_cost_is_the_inverse_of_a_rate_with_its_ends_exchanged() -> None:
    inverse = Figure(2.0, 1.6, 2.5).inverted()
    assert (inverse.value, inverse.low, inverse.high) == (0.5, 0.4, 0.625)
    assert Figure(0.0, None, 0.0).inverted() == Figure()


def test_the_cost_is_read_in_both_shapes() -> None:
    assert cost_of({"machine_s_per_mtok": {"value": 14000, "ci95": None}}).value == 14000
    assert cost_of({"machine_s_per_mtok": {"output": {"value": 14000}, "input": {"value": 1}}}).value == 14000
    assert not cost_of({}).known


@pytest.mark.parametrize("hostile", ["a\x1b[31mred", "a\u202egnp.exe", "a\nb\r\tc", "a\x00b", "a\ufffeb\ud800"])
def test_plain_text_cannot_move_a_cursor_or_turn_words_round(hostile: str) -> None:
    shown = plain(hostile)
    assert shown.isprintable()
    assert shown.startswith("a")


@given(st.text())
def test_plain_text_is_one_printable_line(text: str) -> None:
    assert plain(text).isprintable()


def test_shortening_says_that_something_is_missing() -> None:
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdefg", 6) == "abcde…"
