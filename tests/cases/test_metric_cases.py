"""Cases without reads that metrics, machine, frontier and verification answer: by id."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paretoken.core.objective import Load
from paretoken.core.record import Record
from paretoken.frontier.pareto import Coordinate, Point, frontier
from paretoken.machine.quota import threads_from, v2_cores
from paretoken.metrics.cost import Price, cost_of
from paretoken.metrics.definitions import DEFINITIONS
from paretoken.metrics.figures import Scalar
from paretoken.metrics.goodput import Slo, good, share
from paretoken.metrics.latency import Samples, distribution, distributions, samples_of
from paretoken.metrics.summary import summarise
from paretoken.metrics.throughput import full_window_req_s
from paretoken.records.schema import records_from_jsonl, records_jsonl
from paretoken.study.choose import Entrant, recommend
from paretoken.verification.effect import judge, judge_all
from paretoken.verification.validity import RunFacts, doubts_of, lateness_p99_s, lengths_differ
from paretoken.wire.read import read_reply
from tests.made import failed, record

STREAMS_1 = Load(concurrency=1)


def case(name: str) -> tuple[Any, Any]:
    found = json.loads((Path(__file__).parent / f"{name}.json").read_text())
    return found["input"], found["expect"]


def seconds(ms: float | None) -> float:
    return 0.0 if ms is None else ms / 1000


def doubt_names(records: list[Record], facts: RunFacts) -> set[str]:
    return {doubt.name for doubt in doubts_of(records, facts)}


def test_st_all_failed() -> None:
    given, expect = case("st-all-failed")
    records = [failed(i, error=r["error"], status=r["status"]) for i, r in enumerate(given["records"])]
    found = json.loads(json.dumps(summarise(records, load=STREAMS_1).as_json(), allow_nan=False))
    assert found["metrics"]["ttft_ms"]["p50"] is expect["ttft_ms"]
    assert found["metrics"]["ttft_ms"]["reasons"]["p50"] == "no request was answered"
    assert found["metrics"]["output_tok_s"]["value"] == expect["throughput_tok_per_s"]
    assert found["metrics"]["error_rate"]["value"] == expect["error_rate"]
    assert found["errors"] == expect["errors"]
    assert "failures_high" in doubt_names(records, RunFacts(STREAMS_1))


def test_st_cold_wave() -> None:
    given, expect = case("st-cold-wave")
    waits = given["ttft_ms"]
    cold = given["warmup_requests"]
    warm = [record(i, due_at=50.0 * i, ttft_s=seconds(t), warmup=i < cold) for i, t in enumerate(waits)]
    found = summarise(warm, load=STREAMS_1).as_json()["metrics"]["ttft_ms"]
    assert (found["n"], found["p95"], found["p50"]) == (expect["measured_n"], expect["p95"], expect["p50"])
    everything = [record(i, due_at=50.0 * i, ttft_s=seconds(t)) for i, t in enumerate(waits)]
    without = summarise(everything, load=STREAMS_1).as_json()["metrics"]["ttft_ms"]
    assert without["p95"] == expect["without_exclusion_p95"]
    assert "warm_up_missing" in doubt_names(everything, RunFacts(STREAMS_1))
    assert "warm_up_missing" not in doubt_names(warm, RunFacts(STREAMS_1))


def test_st_failures_not_zeros() -> None:
    given, expect = case("st-failures-not-zeros")
    records = [
        record(i, ttft_s=seconds(r["ttft_ms"])) if r["ok"] else failed(i) for i, r in enumerate(given["records"])
    ]
    summary = summarise(records, load=STREAMS_1)
    assert (summary.requests["ok"], summary.requests["failed"]) == (expect["n_ok"], expect["n_failed"])
    found = summary.as_json()["metrics"]["ttft_ms"]
    assert (found["p50"], found["mean"]) == (expect["ttft_ms"]["median"], expect["ttft_ms"]["mean"])
    assert samples_of([records], "ttft").values.min() * 1000 == pytest.approx(expect["ttft_ms"]["min"])
    assert summary.scalars["error_rate"].value == pytest.approx(expect["error_rate"])


def test_st_goodput_over_attempted() -> None:
    given, expect = case("st-goodput-over-attempted")
    slo = Slo(ttft_s=seconds(given["slo"]["ttft_ms"]), tpot_s=seconds(given["slo"]["tpot_ms"]))
    records = [
        record(i, ttft_s=seconds(r["ttft_ms"]), tpot_s=seconds(r["tpot_ms"])) if r["ok"] else failed(i)
        for i, r in enumerate(given["records"])
    ]
    summary = summarise(records, load=Load(rate_per_s=2.0), slo=slo, duration_s=given["duration_s"])
    assert len(good(records, slo)) == expect["good"]
    assert summary.scalars["goodput_req_s"].value == pytest.approx(expect["goodput_req_per_s"])
    assert summary.scalars["goodput_share"].value == expect["slo_attainment_of_attempted"]
    completed = [[r for r in records if r.outcome == "ok"]]
    assert share(completed, slo.met_by, 0).value == expect["slo_attainment_of_completed"]
    of, _, denominator = expect["headline"].partition(" ")
    assert of == "of" and DEFINITIONS["goodput_share"].formula.endswith(f"/ {denominator}")


def test_st_p99_needs_100() -> None:
    given, expect = case("st-p99-needs-100")
    samples = Samples(np.array(given["latencies_ms"]) / 1000, np.arange(given["n"]))
    found = distribution(samples, longest_s=1.0, none="", seed=0).as_json()
    assert found["p50"] == expect["p50"] and found["max"] == expect["max"]
    assert found["p99"] is None
    assert expect["p99_note_contains"] in found["reasons"]["p99"]


def test_st_sustained_rate() -> None:
    given, expect = case("st-sustained-rate")
    records = [record(i, ttft_s=end, tokens=1) for i, end in enumerate(given["completions_s"])]
    for load in (Load(rate_per_s=11.0), Load(concurrency=11)):
        scalars = summarise(records, load=load).scalars
        assert scalars["full_window_req_s"].value == pytest.approx(expect["full_window_req_per_s"])
        assert scalars["req_s"].value == pytest.approx(expect["sustained_req_per_s"])


def test_ru_cost() -> None:
    given, expect = case("ru-cost")
    price = Price(given["price_per_hour"], given["currency"], "the case", "2026-11-30")
    # An answer a second: its prompt is read at the start, its output spread over the second.
    n_in, n_out = given["input_tok_per_s"], given["output_tok_per_s"]
    records = [
        record(i, due_at=float(i), ttft_s=0.0, tpot_s=1 / n_out, tokens=n_out, reply={"prompt_tokens": n_in})
        for i in range(100)
    ]
    summary = summarise(records, load=STREAMS_1, price=price)
    rates = {name: summary.scalars[f"{name}_tok_s"].value for name in ("output", "total")}
    assert rates == {"output": pytest.approx(n_out, rel=1e-3), "total": pytest.approx(n_in + n_out, rel=1e-3)}
    costs = summary.as_json()["metrics"]["cost_per_mtok"]
    assert costs["output"]["value"] == pytest.approx(expect["per_million_output"], rel=1e-3)
    assert costs["total"]["value"] == pytest.approx(expect["per_million_total"], rel=1e-3)
    assert costs["source"] and costs["as_of"] and costs["currency"] == "USD"


@pytest.mark.parametrize(("rate", "key"), [("output_tok_per_s", "per_million_output"), (None, "per_million_total")])
def test_ru_cost_to_its_digits(rate: str | None, key: str) -> None:
    given, expect = case("ru-cost")
    tok_s = given[rate] if rate else given["output_tok_per_s"] + given["input_tok_per_s"]
    found = cost_of(Scalar(tok_s), Price(given["price_per_hour"], "USD", "the case", "2026-11-30")).value
    assert found == pytest.approx(expect[key], abs=5e-7)


def test_cf_realised_output_length() -> None:
    given, expect = case("cf-realised-output-length")
    wanted = given["wanted_output_tokens"]
    records = [record(i, tokens=n, wanted_output_tokens=wanted) for i, n in enumerate(given["served_output_tokens"])]
    mean = summarise(records, load=STREAMS_1).scalars["output_tokens"].value
    assert mean == expect["mean_output_tokens"]
    doubts = {doubt.name: doubt for doubt in doubts_of(records, RunFacts(STREAMS_1))}
    assert f"{expect['met_wanted']} of 4 met it" in doubts[expect["flag"]].seen
    unequal = lengths_differ(float(wanted), mean)
    assert unequal is not None and unequal.fatal
    assert judge("m", [1.0] * 6, [2.0] * 6, lower_is_better=False, doubts=[unequal]).verdict == "invalid"


def test_lg_late_first_send() -> None:
    given, expect = case("lg-late-first-send")
    first, last, n = given["first_sent_ms"] / 1000, given["last_end_ms"] / 1000, given["completed"]
    each = (last - first) / n
    records = [record(i, due_at=first + i * each, ttft_s=each, tokens=1) for i in range(n)]
    assert full_window_req_s(records).value == pytest.approx(expect["request_throughput_per_s"])
    doubts = {doubt.name: doubt for doubt in doubts_of(records, RunFacts(STREAMS_1))}
    assert doubts[expect["run_flag"]].seen == "the first request left 12 s after the run began"


def test_lg_coordinated_omission() -> None:
    given, expect = case("lg-coordinated-omission")
    records = [
        record(
            r["id"],
            due_at=seconds(r["scheduled_ms"]),
            sent_at=seconds(r["sent_ms"]),
            ttft_s=seconds(r["end_ms"] - r["sent_ms"]),
            tokens=1,
        )
        for r in given["records"]
    ]
    found = {name: spans.as_json() for name, spans in distributions([records]).items()}
    from_sent, from_due, lag = found["e2e"], found["ttft_from_due"], found["lateness"]
    assert from_sent["p50"] == pytest.approx(expect["latency_from_sent_ms"]["p50"])
    assert from_sent["max"] == pytest.approx(expect["latency_from_sent_ms"]["max"])
    assert from_due["p50"] == pytest.approx(expect["latency_from_schedule_ms"]["p50"])
    assert from_due["max"] == pytest.approx(expect["latency_from_schedule_ms"]["max"])
    listed = samples_of([records], "ttft_from_due").values * 1000
    assert listed == pytest.approx(expect["latency_from_schedule_ms"]["list"])
    assert lag["max"] == pytest.approx(expect["dispatch_lag_ms"]["max"])
    assert lag["mean"] == pytest.approx(expect["dispatch_lag_ms"]["mean"])
    doubts = {doubt.name: doubt for doubt in doubts_of(records, RunFacts(Load(rate_per_s=10.0)))}
    assert expect["run_flag"] in doubts
    assert doubts["client_saturated"].fatal
    assert doubts[expect["run_flag"]].seen.startswith(f"{expect['late_over_10ms']} of 10 requests")
    assert (lateness_p99_s(records) or 0) > 0.01


def test_el_threads_from_quota() -> None:
    given, expect = case("el-threads-from-quota")
    found = threads_from(v2_cores(given["cpu_max"]), given["affinity"], given["visible_cores"])
    assert found == expect["threads"]


def test_sr_failed_trial_is_not_best() -> None:
    given, expect = case("sr-failed-trial-is-not-best")
    points = [
        Point(
            trial["id"],
            {"cost": Coordinate.exact(1e6 / trial["tok_per_s"]), "ttft": Coordinate.exact(trial["ttft_ms"])},
            failed_share=trial["failed"] / (trial["ok"] + trial["failed"]),
        )
        for trial in given["trials"]
    ]
    found = frontier(points)
    assert [point.label for point in found.on] == expect["pareto"]
    assert [point.label for point, _ in found.infeasible] == expect["infeasible"]


def test_sr_tie_goes_to_default() -> None:
    given, expect = case("sr-tie-goes-to-default")
    effect = judge("tok_s", given["default"]["tok_per_s"], given["candidate"]["tok_per_s"], lower_is_better=False)
    assert effect.verdict == "same"
    assert effect.reason is not None and expect["reason_contains"] in effect.reason
    # At one stream the default is the hand setting as well; with another hand setting a tie goes to the default, too.
    tied = Entrant("candidate", vs_baseline=effect, vs_hand=effect)
    for hand in (None, Entrant("hand", vs_baseline=effect)):
        assert recommend(Entrant("default"), hand, tied).label == expect["chosen"]


def test_sr_spec_must_pay() -> None:
    given, expect = case("sr-spec-must-pay")
    candidates = {str(s["n_max"]): s["tok_per_s"] for s in given["speculative"]}
    effects = judge_all("tok_s", given["baseline_tok_per_s"], candidates, lower_is_better=False)
    assert [effect.ratio for effect in effects.values()] == [pytest.approx(s, abs=5e-4) for s in expect["speedups"]]
    # Nobody is better than the same engine without drafting: there the choice stays.
    for label, effect in effects.items():
        drafting = Entrant(label, vs_baseline=effect)
        assert recommend(Entrant("no speculation"), None, drafting).label == expect["chosen"]


@pytest.mark.parametrize("number", [0, 1])
def test_sr_spec_must_pay_reports_acceptance(number: int) -> None:
    """llama.cpp counts what it drafted and what was accepted; a record keeps both, also on the disk."""
    given, expect = case("sr-spec-must-pay")
    acceptance = given["speculative"][number]["acceptance"]
    timings = {"draft_n": 100, "draft_n_accepted": round(100 * acceptance)}
    choice = {"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}
    body = f"data: {json.dumps({'choices': [choice], 'timings': timings})}\n\ndata: [DONE]\n\n"
    reply = read_reply("openai-chat-sse", 200, "text/event-stream", [(0.1, body.encode())], (0.2, "eof"))
    (kept,) = records_from_jsonl(records_jsonl([replace(record(0), reply=reply)]))
    found = kept.reply.server_timings
    assert (found["draft_n_accepted"] / found["draft_n"] == acceptance) is expect["acceptance_reported"]
