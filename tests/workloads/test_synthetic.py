"""Synthetic prompts: exact lengths with a counter, approximate and named so without one, never alike."""

import pytest

from paretoken.core.request import Workload
from paretoken.errors import UsageError
from paretoken.workloads.synthetic import synthetic


def prompts(workload: Workload) -> list[str]:
    return [request.messages[0].content for request in workload.requests]


def pieces(text: str) -> int:
    """A tokenizer of a kind: three letters a token, and a token for the beginning."""
    return 1 + sum(-(-len(word) // 3) for word in text.split())


@pytest.mark.parametrize("length", [1, 2, 3, 17, 128])
def test_lengths_are_exact_where_tokens_can_be_counted(length: int) -> None:
    workload = synthetic(requests=20, input_tokens=length, output_tokens=8, seed=1, warmup=2, count_tokens=pieces)
    assert {pieces(text) - pieces("") for text in prompts(workload)} == {length}
    assert len(prompts(workload)) == 22
    assert workload.name == "synthetic"


def test_without_a_counter_the_name_says_that_lengths_are_approximate() -> None:
    workload = synthetic(requests=5, input_tokens=64, output_tokens=8, seed=1)
    assert "approximate" in workload.name
    assert {len(text.split()) for text in prompts(workload)} == {64}


def test_nothing_is_shared_and_a_seed_repeats() -> None:
    workload = synthetic(requests=500, input_tokens=16, output_tokens=8, seed=1)
    assert len({text.split()[0] for text in prompts(workload)}) == 500
    assert workload.shared_prefix_tokens == 0
    assert synthetic(requests=500, input_tokens=16, output_tokens=8, seed=1) == workload
    assert synthetic(requests=500, input_tokens=16, output_tokens=8, seed=2).digest != workload.digest


def test_when_first_words_run_out_second_words_differ() -> None:
    texts = prompts(synthetic(requests=3000, input_tokens=16, output_tokens=8, seed=1))
    assert len({tuple(text.split()[:2]) for text in texts}) == 3000


def test_more_distinct_prompts_than_there_are_is_refused() -> None:
    with pytest.raises(UsageError, match="distinct"):
        synthetic(requests=2000, input_tokens=1, output_tokens=8, seed=1)


def test_a_tokenizer_that_cannot_meet_the_length_is_refused() -> None:
    with pytest.raises(UsageError, match="exactly 5 tokens"):
        synthetic(requests=1, input_tokens=5, output_tokens=8, seed=1, count_tokens=lambda text: 2 * len(text.split()))


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(UsageError, match="at least one token"):
        synthetic(requests=1, input_tokens=0, output_tokens=8, seed=1)
