import pytest

from paretoken.errors import UsageError
from paretoken.workloads.copying import ASK, copying


def test_each_request_asks_for_another_passage_under_one_system_prompt() -> None:
    found = copying(requests=12, output_tokens=64, seed=1, warmup=2)
    assert [request.warmup for request in found.requests] == [True] * 2 + [False] * 10 + [False] * 2
    asked = [request.messages[-1].content for request in found.requests]
    assert len(set(asked)) == 14 and all(text.startswith(ASK) for text in asked)
    assert len({request.messages[0] for request in found.requests}) == 1
    assert found.shared_prefix_tokens > 0
    words = [len(text.removeprefix(ASK).split()) for text in asked]
    assert set(words) == {51}, "about as long as the answer"


def test_equal_seeds_are_equal_work() -> None:
    assert copying(requests=3, output_tokens=9, seed=4).digest == copying(requests=3, output_tokens=9, seed=4).digest
    assert copying(requests=3, output_tokens=9, seed=4).digest != copying(requests=3, output_tokens=9, seed=5).digest


def test_lengths_that_cannot_be_are_refused() -> None:
    with pytest.raises(UsageError):
        copying(requests=0, output_tokens=9, seed=4)
