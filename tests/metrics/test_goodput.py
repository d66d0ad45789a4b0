"""Goodput counts what was attempted."""

import pytest

from paretoken.metrics.goodput import Slo, good, goodput_req_s, goodput_share, share
from tests.made import failed, record


def test_every_limit_must_hold_for_the_same_request() -> None:
    slo = Slo(ttft_s=0.5, tpot_s=0.05)
    assert slo.met_by(record(ttft_s=0.5, tpot_s=0.04))
    assert not slo.met_by(record(ttft_s=0.6, tpot_s=0.04))
    assert not slo.met_by(record(ttft_s=0.3, tpot_s=0.06))


def test_ttft_in_an_slo_runs_from_due() -> None:
    assert not Slo(ttft_s=0.5).met_by(record(due_at=0.0, sent_at=0.45, ttft_s=0.1))


def test_a_missing_metric_is_not_good() -> None:
    assert not Slo(tpot_s=1.0).met_by(record(tokens=1))
    assert not Slo(ttfa_s=1.0).met_by(record(reply={"first_answer_at": None}))
    assert not Slo(e2e_s=1.0).met_by(record(reply={"done_at": None, "finish_at": None}))


def test_failing_fast_is_not_rewarded() -> None:
    records = [record(0), record(1), failed(2), record(3, outcome="lost"), record(4, warmup=True)]
    slo = Slo(ttft_s=1.0)
    assert len(good(records, slo)) == 2
    assert goodput_share([records], slo, 0).value == 0.5


def test_all_good_is_not_certainty() -> None:
    """Three in a hundred could fail and a hundred still all pass, about once in forty."""
    requests = [[record(i) for i in range(100)]]
    assert list(share(requests, lambda r: True, 0).ci95 or ()) == [pytest.approx(0.9638, abs=1e-4), 1.0]
    assert list(share(requests, lambda r: False, 0).ci95 or ()) == [0.0, pytest.approx(0.0362, abs=1e-4)]


def test_sessions_are_resampled_whole() -> None:
    requests = [record(i, session=i // 10, turn=i % 10) for i in range(100)]
    whole = share([requests], lambda r: r.session % 2 == 0, 0)
    single = share([[record(i) for i in range(100)]], lambda r: r.request_id % 2 == 0, 0)
    assert whole.ci95 is not None and single.ci95 is not None
    assert whole.ci95[1] is not None and single.ci95[1] is not None
    assert whole.ci95[1] - 0.5 > 2 * (single.ci95[1] - 0.5)


def test_unknown_shares() -> None:
    assert goodput_share([[record(0)]], None, 0).reasons == {"value": "no SLO was stated"}
    assert goodput_share([[]], Slo(ttft_s=1.0), 0).value is None
    assert goodput_req_s(goodput_share([[record(0)]], None, 0), 1, 10.0).value is None
    assert goodput_req_s(share([[record(0)]], lambda r: True, 0), 1, 0.0).value is None


def test_an_slo_in_json() -> None:
    assert Slo(ttft_s=0.5, e2e_s=2.0).as_json() == {"ttft_ms": 500.0, "e2e_ms": 2000.0}
