import pytest

from paretoken.verification.answers import Pair, broken_answers, divergence, is_degenerate, pairs_of
from paretoken.verification.logits import Answer


def answer(model: str, prompt: int, text: str, tokens: tuple[int, ...] = (1, 2, 3), *, ended: bool = False) -> Answer:
    return Answer(model, prompt, tokens, tuple(0.05 + i for i in range(len(tokens))), text, ended, True)


def pair(before: str, now: str, *, ended: tuple[bool, bool] = (False, False)) -> Pair:
    ours, theirs = answer("baseline", 0, before, ended=ended[0]), answer("candidate", 0, now, ended=ended[1])
    return Pair("?", ours, theirs, divergence(ours.tokens, theirs.tokens))


FINE = "The pump stands beside the old mill, and the river passes behind it."
LOOP = "the river the river the river the river the river the river the river"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "!" * 40,
        LOOP,
        "ha " * 20,
        "0, 0, 0, 0, 0, 0, 0, 0, 0, 0,",
        "��a�� ��b��",
        "我们我们我们我们我们我们我们我们我们我们我们我们",
    ],
)
def test_what_a_broken_model_writes(text: str) -> None:
    assert is_degenerate(text)


@pytest.mark.parametrize(
    "text",
    [
        FINE,
        "Yes.",
        "No, no, no!",
        "1. Brakes\n2. Chain\n3. Tyres\n4. Frame",
        "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
        "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness",
    ],
)
def test_what_a_working_model_may_write(text: str) -> None:
    assert not is_degenerate(text)


def test_where_answers_part() -> None:
    assert divergence([1, 2, 3], [1, 2, 3]).identical
    assert divergence([1, 2, 3], [1, 2]).first_divergence == 2
    assert divergence([], [7]).first_divergence == 0
    assert divergence([1, 9], [2, 9]).common_prefix == 0


def test_near_tie_is_the_baselines_lead_where_they_part() -> None:
    ours = answer("baseline", 0, "a", (1, 2, 3))
    assert pairs_of([ours, answer("candidate", 0, "b", (9, 2, 3))], ["?"])[0].near_tie is True
    assert pairs_of([ours, answer("candidate", 0, "b", (1, 9, 3))], ["?"])[0].near_tie is False
    assert pairs_of([ours, answer("candidate", 0, "b", (1, 2, 3, 4))], ["?"])[0].near_tie is None


def test_a_broken_candidate_is_one_that_breaks_most_prompts() -> None:
    assert broken_answers([pair(FINE, LOOP), pair(FINE, LOOP), pair(FINE, FINE)]) is not None
    assert broken_answers([pair(FINE, LOOP), pair(FINE, FINE), pair(FINE, FINE)]) is None


def test_a_baseline_that_loops_itself_accuses_nobody() -> None:
    assert broken_answers([pair(LOOP, LOOP), pair(LOOP, LOOP)]) is None


def test_a_candidate_that_never_ends_is_broken() -> None:
    both = [pair(FINE, FINE, ended=(True, False))] * 2
    assert "never end" in (broken_answers(both) or "")
    assert broken_answers([*both, pair(FINE, FINE, ended=(False, True))]) is None
