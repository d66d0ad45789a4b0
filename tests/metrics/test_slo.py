"""An SLO is read as written, and kept only when the interval says so."""

from typing import Any

import pytest

from paretoken.core.objective import Limit
from paretoken.errors import UsageError
from paretoken.metrics.slo import held, overrun, parse_slo, per_request, slo_words


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("p95 ttft < 2s", [Limit("p95", "ttft", 2.0)]),
        ("P95 TTFT<2S,p50 tpot <= 100 ms", [Limit("p95", "ttft", 2.0), Limit("p50", "tpot", 0.1)]),
        ("e2e < 1m", [Limit("p95", "e2e", 60.0)]),
        ("mean itl < 0.5s", [Limit("mean", "itl", 0.5)]),
    ],
)
def test_limits_are_read(text: str, wanted: list[Limit]) -> None:
    assert list(parse_slo(text)) == wanted
    assert list(parse_slo(slo_words(wanted))) == wanted


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "''"),
        ("p95 ttft", "p95 ttft"),
        ("p95 ttft > 2s", "p95 ttft > 2s"),
        ("p95 ttft < 2", "p95 ttft < 2"),
        ("p95 ttft < 0s", "0s"),
        ("p95 ttft < 1.2.3s", "1.2.3s"),
        ("p95 ttft < 2 parsecs", "2parsecs"),
        ("p42 ttft < 2s", "p42"),
        ("p95 speed < 2s", "speed"),
        ("p95 ttft < 2s,", "''"),
        ("p95 ttft < 2s, ttft < 3s", "p95 ttft"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, named: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_slo(text)
    assert named in str(refused.value)


def metrics(p95: float | None, ends: tuple[float | None, float | None] | None) -> dict[str, Any]:
    return {"ttft_from_due_ms": {"p50": 100.0, "p90": 150.0, "p95": p95, "ci95": {"p95": ends}}}


@pytest.mark.parametrize(
    ("p95", "ends", "verdict"),
    [
        (180.0, (160.0, 200.0), "met"),
        (180.0, (160.0, 201.0), "unknown"),
        (220.0, (201.0, 260.0), "missed"),
        (220.0, (201.0, None), "missed"),
        (180.0, (160.0, None), "unknown"),
        (180.0, None, "unknown"),
        (None, None, "unknown"),
    ],
)
def test_a_limit_is_met_only_with_its_whole_interval(
    p95: float | None, ends: tuple[float | None, float | None] | None, verdict: str
) -> None:
    (found,) = held(parse_slo("p95 ttft < 200ms"), metrics(p95, ends))
    assert found.verdict == verdict


def test_the_worst_limit_counts_and_a_short_run_lends_its_nearest_percentile() -> None:
    limits = parse_slo("p95 ttft < 200ms, p50 ttft < 80ms")
    assert overrun(limits, metrics(180.0, None)) == pytest.approx(1.25)
    assert overrun(parse_slo("p99 ttft < 100ms"), metrics(None, None)) == pytest.approx(1.5)
    assert overrun(parse_slo("p95 tpot < 1s"), metrics(1.0, None)) == float("inf")
    assert overrun((), metrics(1.0, None)) == 0.0


def test_goodput_takes_the_limits_of_each_request() -> None:
    found = per_request(parse_slo("p50 ttft < 1s, p95 ttft < 2s, p95 tpot < 100ms"))
    assert found is not None and (found.ttft_s, found.tpot_s, found.e2e_s) == (2.0, 0.1, None)
    assert per_request(parse_slo("p95 itl < 100ms, p95 ttft < 1s")) is None
    assert per_request(()) is None
