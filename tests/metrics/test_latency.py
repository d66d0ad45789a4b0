"""Which spans enter a distribution, and what is refused."""

import numpy as np
import pytest

from paretoken.core.record import Record
from paretoken.metrics.latency import Samples, answered, distribution, distributions, run_length_s, samples_of
from tests.made import failed, record


def test_failures_and_warm_ups_are_no_samples() -> None:
    records = [
        record(0, ttft_s=9.0, warmup=True),
        *(record(i, ttft_s=0.1 * i) for i in (1, 2, 3)),
        failed(4),
        record(5, outcome="lost"),
    ]
    found = distributions([records])["ttft"]
    assert found.n == 3
    assert found.mean == pytest.approx(0.2)
    assert found.max == pytest.approx(0.3)
    assert len(answered(records)) == 3


def test_gaps_are_pooled_and_know_their_request() -> None:
    records = [record(0, tokens=4), record(1, tokens=3), record(2, tokens=1)]
    samples = samples_of([records], "itl")
    assert len(samples.values) == 5
    assert samples.groups.tolist() == [0, 0, 0, 1, 1]
    assert not samples.independent
    assert samples_of([records], "ttft").independent


def test_turns_of_a_session_belong_together_across_blocks() -> None:
    block = [record(0, session=0), record(1, session=0, turn=1), record(2, session=1)]
    assert samples_of([block, block], "ttft").groups.tolist() == [0, 0, 1, 2, 2, 3]


def test_from_due_is_what_a_user_feels() -> None:
    records = [record(i, due_at=0.0, sent_at=0.5, ttft_s=0.1) for i in range(6)]
    found = distributions([records])
    assert found["ttft"].p50 == pytest.approx(0.1)
    assert found["ttft_from_due"].p50 == pytest.approx(0.6)
    assert found["lateness"].p50 == pytest.approx(0.5)


def test_what_no_request_has_is_null_with_its_reason() -> None:
    found = distributions([[record(0, tokens=1)]])
    assert found["tpot"].p50 is None and found["itl"].p50 is None
    assert found["tpot"].reasons["p50"] == "no request had a known token count above its first chunk's"
    assert found["connect"].reasons["p50"] == "every connection was reused"
    assert distributions([[failed(0)]])["ttft"].reasons["p50"] == "no request was answered"
    assert distributions([[]])["ttft"].n == 0


@pytest.mark.parametrize("span", [-0.5, 20.0])
def test_a_span_outside_the_run_is_never_printed(span: float) -> None:
    samples = Samples(np.array([0.1, 0.2, span]), np.arange(3))
    found = distribution(samples, longest_s=10.0, none="", seed=0)
    assert found.p50 is None and found.mean is None and found.max is None
    assert found.reasons["p50"] == "internal error: 1 of 3 lie outside 0 to 10 s, the run's length"


def test_a_stamps_rounding_below_zero_is_no_error() -> None:
    samples = Samples(np.array([-0.0004, 0.1]), np.arange(2))
    assert distribution(samples, longest_s=1.0, none="", seed=0).n == 2


def test_the_mean_of_few_requests_has_no_interval() -> None:
    found = distributions([[record(i) for i in range(3)]], error_bound_s=0.0002)["ttft"]
    assert found.ci95["mean"] is None
    assert found.reasons["mean"] == "n=3: an interval needs 5 requests"
    assert found.error_bound_s == 0.0002


def test_the_run_lasts_from_the_first_due_to_the_last_thing_known() -> None:
    records: list[Record] = [record(0, due_at=2.0, ttft_s=1.0, tokens=1), record(1, due_at=1.0, outcome="lost")]
    assert run_length_s(records) == pytest.approx(2.0)
    assert run_length_s([]) == 0.0
