"""A whole summary: shape, counts, pooling, and strictly valid JSON at the edges."""

import json
from typing import Any

import pytest

from paretoken.core.objective import Load
from paretoken.metrics.cost import Price
from paretoken.metrics.goodput import Slo
from paretoken.metrics.summary import pooled, summarise
from paretoken.metrics.throughput import Window
from tests.made import closed_loop, failed, record

CLOSED_2 = Load(concurrency=2)


def strict(document: dict[str, Any]) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(json.dumps(document, allow_nan=False))
    return loaded


def test_the_contracts_names_and_shapes() -> None:
    found = strict(summarise(closed_loop(2, [1.0] * 40), load=CLOSED_2, slo=Slo(ttft_s=1.0)).as_json())
    metrics = found["metrics"]
    for name in ("ttft_ms", "ttft_from_due_ms", "itl_ms", "tpot_ms", "e2e_ms"):
        assert set(metrics[name]) == {
            *("n", "mean", "p50", "p90", "p95", "p99", "max", "ci95", "reasons", "error_bound_ms", "bounds_ms"),
        }
    for name in ("output_tok_s", "req_s", "goodput_share", "goodput_req_s"):
        assert set(metrics[name]) == {"value", "ci95", "reasons"}
    assert found["requests"] == {"scheduled": 40, "ok": 40, "failed": 0, "cancelled": 0, "lost": 0}
    assert metrics["tpot_ms"]["p50"] == pytest.approx(90.0)
    assert metrics["tok_s_per_user"]["value"] == pytest.approx(1 / 0.09)
    assert metrics["output_tok_s"]["value"] == pytest.approx(22, rel=0.03)
    assert metrics["machine_s_per_mtok"]["output"]["value"] == pytest.approx(1e6 / metrics["output_tok_s"]["value"])
    assert metrics["machine_s_per_mtok"]["input"]["value"] is None
    assert metrics["window"]["steady"] is True
    assert metrics["slo"] == {"ttft_ms": 1000.0}


def test_scheduled_is_the_sum_without_the_warm_up() -> None:
    records = [
        record(0, warmup=True),
        record(1),
        failed(2),
        failed(3, error="timeout", status=None),
        record(4, outcome="cancelled"),
        record(5, outcome="lost"),
    ]
    summary = summarise(records, load=Load(concurrency=1))
    assert summary.requests == {"scheduled": 5, "ok": 1, "failed": 2, "cancelled": 1, "lost": 1}
    assert summary.errors == {"http_status 503": 1, "timeout": 1, "cancelled": 1, "lost": 1}
    assert summary.scalars["error_rate"].value == pytest.approx(3 / 4)


def test_with_a_price_the_cost_names_its_denominators_and_source() -> None:
    records = [record(i, due_at=float(i), ttft_s=0.5, tokens=5, reply={"prompt_tokens": 20}) for i in range(20)]
    price = Price(3.6, "EUR", "an invoice", "2026-11-01")
    costs = strict(summarise(records, load=Load(concurrency=1), price=price, slo=Slo(ttft_s=9)).as_json())["metrics"]
    assert "machine_s_per_mtok" not in costs
    cost = costs["cost_per_mtok"]
    assert (cost["currency"], cost["source"], cost["as_of"]) == ("EUR", "an invoice", "2026-11-01")
    assert cost["good"]["value"] == pytest.approx(cost["output"]["value"])
    assert cost["total"]["value"] < cost["input"]["value"] < cost["output"]["value"]


def test_nothing_at_all_is_valid_json() -> None:
    found = strict(summarise([], load=CLOSED_2).as_json())
    assert found["requests"]["scheduled"] == 0
    assert found["metrics"]["output_tok_s"]["value"] == 0.0
    assert found["metrics"]["error_rate"]["value"] is None
    assert found["metrics"]["window"] is None


def test_answers_without_usage_have_no_token_rate_but_latencies() -> None:
    records = closed_loop(2, [1.0] * 20)
    bare = [record(r.request_id, due_at=r.due_at, tokens=None, ttft_s=1.0) for r in records]
    found = summarise(bare, load=CLOSED_2)
    assert found.scalars["output_tok_s"].value is None
    assert found.scalars["output_tok_s"].reasons["value"] == "20 of 20 answers came without usage"
    assert found.scalars["output_tokens"].reasons["value"] == "no answer came with usage"
    assert found.distributions["ttft"].n == 20
    assert found.costs["output"].value is None
    strict(found.as_json())


def test_a_window_can_be_given() -> None:
    records = closed_loop(1, [1.0] * 10)
    summary = summarise(records, load=Load(concurrency=1), window=Window(0.0, 5.0, "by hand", True))
    assert summary.windows[0] is not None and summary.windows[0].method == "by hand"
    assert summary.scalars["output_tok_s"].value == pytest.approx(11, rel=0.05)


def test_pooling_pools_samples_and_averages_rates() -> None:
    fast, slow = closed_loop(2, [1.0] * 36), closed_loop(2, [2.0] * 36)
    both = pooled([fast, slow], load=CLOSED_2)
    assert both.distributions["e2e"].n == 72
    # Half of the samples are 1 s, half 2 s: the pooled p90 is 2 s, the average of both p90 would be 1.5 s.
    assert both.distributions["e2e"].quantiles["p90"] == pytest.approx(2.0)
    single = [summarise(block, load=CLOSED_2).scalars["output_tok_s"].value for block in (fast, slow)]
    assert single[0] is not None and single[1] is not None
    rate = both.scalars["output_tok_s"]
    assert rate.value == pytest.approx((single[0] + single[1]) / 2)
    assert rate.reasons["ci95"] == "n=2: an interval over runs needs 3"
    assert len(strict(both.as_json())["metrics"]["window"]) == 2
    assert both.requests["ok"] == 72


def test_pooled_rates_have_a_t_interval_over_runs() -> None:
    blocks = [closed_loop(2, [length] * 20) for length in (0.9, 1.0, 1.1)]
    rate = pooled(blocks, load=CLOSED_2).scalars["output_tok_s"]
    values = [summarise(block, load=CLOSED_2).scalars["output_tok_s"].value or 0.0 for block in blocks]
    mean = sum(values) / 3
    sd = (sum((v - mean) ** 2 for v in values) / 2) ** 0.5
    assert rate.ci95 is not None and rate.ci95[1] == pytest.approx(mean + 4.302653 * sd / 3**0.5)


def test_one_run_without_a_rate_leaves_the_pool_without_one() -> None:
    bare = [record(i, due_at=float(i), tokens=None) for i in range(10)]
    found = pooled([closed_loop(2, [1.0] * 10), bare], load=CLOSED_2).scalars["output_tok_s"]
    assert found.value is None and "without usage" in found.reasons["value"]


def test_pooling_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        pooled([], load=CLOSED_2)
