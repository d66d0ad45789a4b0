"""The chat workload: how many, how varied, how it repeats, and what later turns carry."""

import statistics
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paretoken.core.request import Request, Workload
from paretoken.errors import UsageError
from paretoken.workloads import WORKLOADS
from paretoken.workloads.chat import chat
from paretoken.workloads.chat_phrases import OPENINGS
from paretoken.workloads.chat_texts import FIELDS, SYSTEM_PROMPT


def asked(workload: Workload) -> list[str]:
    """The first user prompt of every session."""
    return [request.messages[1].content for request in workload.requests if request.turn == 0]


def by_session(workload: Workload) -> dict[int, list[Request]]:
    sessions: dict[int, list[Request]] = {}
    for request in workload.requests:
        sessions.setdefault(request.session, []).append(request)
    return sessions


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 120), st.integers(0, 12), st.integers(0, 2**31))
def test_requests_counts_the_measured_turns_and_the_warm_up_comes_first(requests: int, warmup: int, seed: int) -> None:
    workload = chat(requests=requests, output_tokens=40, seed=seed, warmup=warmup, warmup_output_tokens=4)
    flags = [request.warmup for request in workload.requests]
    assert flags == [True] * warmup + [False] * requests
    assert [request.id for request in workload.requests] == list(range(warmup + requests))
    assert {request.sampling.max_tokens for request in workload.requests if request.warmup} <= {4}
    assert {request.sampling.max_tokens for request in workload.requests if not request.warmup} == {40}
    assert all(request.sampling.ignore_eos for request in workload.requests)


def test_subjects_and_openings_all_begin_differently() -> None:
    first_words = [subject.split()[0].lower() for field in FIELDS for subject in field.subjects]
    assert [word for word, count in Counter(first_words).items() if count > 1] == []
    assert len({opening[:4] for opening in OPENINGS}) == len(OPENINGS)


def test_hundreds_of_prompts_differ_from_their_first_word_on() -> None:
    prompts = asked(chat(requests=300, output_tokens=40, seed=4))
    subjects = sorted((s for field in FIELDS for s in field.subjects), key=len, reverse=True)
    assert len({next(s for s in subjects if prompt.startswith(s)) for prompt in prompts}) == len(prompts)


def test_thousands_of_prompts_are_distinct() -> None:
    prompts = asked(chat(requests=9000, output_tokens=8, seed=4))
    assert len(set(prompts)) == len(prompts)
    assert len({prompt[:40] for prompt in prompts[:5000]}) == 5000


def test_prompts_have_the_lengths_of_chat() -> None:
    words = [len(prompt.split()) for prompt in asked(chat(requests=400, output_tokens=40, seed=2))]
    assert min(words) >= 6 and max(words) <= 60
    assert 15 <= statistics.median(words) <= 35
    assert statistics.stdev(words) > 5


def test_no_placeholder_is_left() -> None:
    assert not any(
        "{" in message.content
        for request in chat(requests=500, output_tokens=60, seed=8).requests
        for message in request.messages
    )


def test_one_system_prompt_is_declared_and_shared_by_all() -> None:
    workload = chat(requests=50, output_tokens=40, seed=1, warmup=3)
    assert {request.messages[0].content for request in workload.requests} == {SYSTEM_PROMPT}
    assert {request.messages[0].role for request in workload.requests} == {"system"}
    assert workload.shared_prefix_tokens == 128


def test_one_session_in_four_has_a_second_turn_that_carries_a_declared_answer() -> None:
    sessions = by_session(chat(requests=100, output_tokens=48, seed=3)).values()
    two = [turns for turns in sessions if len(turns) == 2]
    assert (len(sessions), len(two)) == (80, 20)
    for first, second in two:
        assert (first.turn, second.turn) == (0, 1)
        assert second.id == first.id + 1
        assert second.messages[: len(first.messages)] == first.messages
        assert [message.role for message in second.messages] == ["system", "user", "assistant", "user"]
        assert len(second.messages[2].content.split()) == pytest.approx(48 / 1.25, abs=1)


def test_a_seed_repeats_and_another_differs() -> None:
    first = chat(requests=40, output_tokens=40, seed=1)
    assert chat(requests=40, output_tokens=40, seed=1) == first
    other = chat(requests=40, output_tokens=40, seed=2)
    assert other.digest != first.digest
    assert not set(asked(other)) & set(asked(first))


def test_the_digest_covers_what_is_sent() -> None:
    base = {"requests": 10, "output_tokens": 40, "seed": 1}
    variants = [base, {**base, "output_tokens": 41}, {**base, "ignore_eos": False}, {**base, "warmup": 1}]
    assert len({WORKLOADS.load("chat")(**variant).digest for variant in variants}) == len(variants)


@pytest.mark.parametrize(
    "wrong", [{"requests": 0}, {"output_tokens": 0}, {"warmup": -1}, {"warmup": 1, "warmup_output_tokens": 0}]
)
def test_impossible_lengths_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        WORKLOADS.load("chat")(**{"requests": 4, "output_tokens": 8, "seed": 0, **wrong})
