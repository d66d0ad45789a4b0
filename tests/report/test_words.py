import pytest

from paretoken.report.figures import Figure, show_rate
from paretoken.report.reading import Verdict
from paretoken.report.words import (
    cost_words,
    instead_of,
    latency_word,
    ratio_words,
    settle_words,
    size_and_speed,
    speed_word,
)


def verdict(word: str, ratio: float | None = 1.2, settle: int | None = None, reason: str | None = None) -> Verdict:
    figure = Figure() if ratio is None else Figure(ratio, ratio * 0.9, ratio * 1.1)
    return Verdict(word, figure, blocks_to_settle=settle, reason=reason)


@pytest.mark.parametrize(
    ("speedup", "size", "said"),
    [
        (0.751, 0.3, "smaller but slower"),
        (1.3, 0.3, "smaller and faster"),
        (1.6, 1.5, "larger but faster"),
        (0.7, 2.7, "larger and slower"),
        (1.01, 0.5, "smaller and as fast"),
        (0.99, 2.0, "larger but as fast"),
        (1.2, 1.0, "same size, faster"),
        (0.8, 1.005, "same size, slower"),
    ],
)
def test_size_and_speed_are_two_things(speedup: float, size: float, said: str) -> None:
    assert size_and_speed(speedup, size).startswith(f"{said}: ")


def test_words_of_comparison_follow_the_verdict_and_not_the_ratio() -> None:
    assert speed_word(verdict("unknown", 1.9)) == "not settled"
    assert speed_word(verdict("invalid", 1.9)) == "no verdict"
    assert speed_word(verdict("worse", 1.9)) == "slower"
    assert latency_word(verdict("better", 0.2)) == "sooner"
    assert latency_word(verdict("a word from elsewhere", 0.2)) == "not settled"


def test_a_ratio_has_its_interval_or_its_reason() -> None:
    assert ratio_words(verdict("better", 1.6)) == "1.60× (95 %: 1.44 to 1.76×)"
    assert ratio_words(Verdict("better", Figure(1.6))) == "1.60× (95 %: no interval)"
    assert ratio_words(verdict("unknown", None, reason="too few blocks")) == "too few blocks"


def test_only_an_unknown_says_what_it_needs() -> None:
    assert settle_words(verdict("unknown", settle=12)) == ["12 more blocks needed"]
    assert settle_words(verdict("unknown", settle=1)) == ["1 more block needed"]
    assert settle_words(verdict("better", settle=12)) == []
    assert settle_words(verdict("unknown")) == []


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (Figure(1.6, 1.5, 1.7), "38 % cheaper (33 to 41 %)"),
        (Figure(0.8, 0.7, 0.9), "25 % dearer (11 to 43 %)"),
        (Figure(1.05, 0.98, 1.12), "5 % cheaper (-2 to 11 %)"),
        (Figure(2.0), "50 % cheaper"),
        (Figure(), "its cost is not known"),
    ],
)
def test_cost_is_said_as_a_change(ratio: Figure, said: str) -> None:
    assert cost_words(ratio) == said


def test_before_and_after_share_a_unit() -> None:
    assert instead_of(Figure(71.3), Figure(44.1), show_rate) == "71.3 instead of 44.1 tok/s"
    assert instead_of(Figure(620.0), Figure(4510.0)) == "620 ms instead of 4.51 s"
    assert instead_of(Figure(620.0), Figure()) == "620 ms instead of not known"
