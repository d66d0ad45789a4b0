"""Two pages of one server → what lies between: differences, restarts, and percentiles with their bucket."""

import pytest

from paretoken.metrics.server_window import ServerWindow, Within, window_between
from paretoken.wire.prometheus import parse
from paretoken.wire.server_metrics import DIALECTS
from tests.wire.expositions import PAGES, VLLM, histogram

BY_NAME = {dialect.name: dialect for dialect in DIALECTS}


def between(before: str, after: str, dialect: str = "vllm") -> ServerWindow:
    return window_between(parse(before.encode()), parse(after.encode()), BY_NAME[dialect])


def ttft(bounds: dict[str, int], total: float) -> str:
    return histogram("vllm:time_to_first_token_seconds", "", bounds, total) + "\n"


def test_counters_become_differences_over_all_label_sets_and_gauges_keep_both_values() -> None:
    later = VLLM.replace('"stop",engine="0",model_name="m"} 4.0', '"stop",engine="0",model_name="m"} 9.0')
    later = later.replace('num_requests_running{engine="0",model_name="m"} 2.0', "num_requests_running 0")
    found = between(VLLM, later)
    assert found.restarted is None
    assert found.counters["requests"] == 5
    assert found.counters["output_tokens"] == 0
    assert found.gauges["running"] == (2.0, 0.0)
    assert found.gauges["kv_used"] == (0.125, 0.125)
    assert found.names["requests"] == "vllm:request_success_total"
    assert "preemptions" in found.counters and "drafted_tokens" not in found.counters  # this server does not show it


@pytest.mark.parametrize("name", sorted(PAGES))
def test_between_a_page_and_itself_nothing_happened(name: str) -> None:
    found = between(PAGES[name], PAGES[name], name)
    assert found.restarted is None and set(found.counters.values()) == {0.0}
    assert all(h.count == 0 and h.mean is None and not h.quantiles for h in found.histograms.values())


@pytest.mark.parametrize("name", sorted(PAGES))
def test_from_nothing_to_a_page_everything_happened(name: str) -> None:
    found = between("", PAGES[name], name)
    assert found.counters["requests" if name != "llama.cpp" else "output_tokens"] > 0


def test_units_are_ours() -> None:
    found = between("", PAGES["triton"], "triton")
    assert found.counters["e2e"] == pytest.approx(5.0)
    assert found.histograms["ttft"].mean == pytest.approx(0.07)
    assert found.as_json()["counters"]["queue_ms"] == pytest.approx(1000.0)
    tgi = between("", PAGES["tgi"], "tgi")
    assert (tgi.counters["output_tokens"], tgi.counters["prompt_tokens"]) == (640, 1500)
    assert tgi.histograms["step_prefill"].mean == pytest.approx(0.04)
    assert tgi.histograms["step_decode"].count == 630


def test_a_histogram_is_the_window_s_own() -> None:
    before = ttft({"0.1": 4, "0.2": 4, "0.4": 5, "+Inf": 6}, 5.0)
    after = ttft({"0.1": 4, "0.2": 12, "0.4": 15, "+Inf": 16}, 8.0)
    found = between(before, after).histograms["ttft"]
    assert found.count == 10 and found.mean == pytest.approx(0.3)
    # 8 of 10 lie in (0.1, 0.2], 2 in (0.2, 0.4], none beyond.
    p50 = found.quantiles["p50"]
    assert p50.value == pytest.approx(0.1 + 0.1 * 5 / 8) and (p50.low, p50.high) == (0.1, 0.2)
    p95 = found.quantiles["p95"]
    assert p95.value == pytest.approx(0.2 + 0.2 * 1.5 / 2) and (p95.low, p95.high) == (0.2, 0.4)
    shown = between(before, after).as_json()["histograms"]["ttft_ms"]
    assert shown["p50_bucket"] == [100.0, 200.0]


def test_in_the_endless_bucket_there_is_no_value() -> None:
    found = between("", ttft({"0.1": 0, "+Inf": 3}, 9.0)).histograms["ttft"]
    assert found.quantiles["p50"] == Within(None, 0.1, None)
    assert found.mean == 3.0


def test_buckets_that_changed_leave_those_in_common() -> None:
    before = ttft({"0.1": 1, "0.2": 1, "+Inf": 1}, 0.1)
    after = ttft({"0.2": 3, "0.3": 4, "+Inf": 4}, 0.8)
    found = between(before, after).histograms["ttft"]
    assert found.quantiles["p50"].high == 0.2


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('prompt_tokens_total{engine="0",model_name="m"} 1000.0', "prompt_tokens_total 3", "prompt_tokens_total fell"),
        ("start_time_seconds 1.7e+09", "start_time_seconds 1.70001e+09", "start time changed"),
        (
            '"stop",engine="0",model_name="m"} 4.0',
            '"stop",engine="0",model_name="m"} 3.0',
            "request_success_total fell",
        ),
    ],
)
def test_a_restart_is_seen_and_then_nothing_is_said_of_the_window(old: str, new: str, says: str) -> None:
    assert old in VLLM
    later = VLLM.replace(old, new)
    if "prompt" in old:
        later = later.replace("prompt_tokens_total 3", 'prompt_tokens_total{engine="0",model_name="m"} 3')
    found = between(VLLM, later)
    assert found.restarted is not None and says in found.restarted
    assert not found.counters and not found.gauges and not found.histograms


def test_a_label_set_that_is_gone_is_no_restart() -> None:
    later = VLLM.replace('vllm:request_success_total{finished_reason="stop",engine="0",model_name="m"} 4.0\n', "")
    found = between(VLLM, later)
    assert later != VLLM and found.restarted is None
    assert "requests" not in found.counters  # how many there were is not known


def test_a_page_without_what_it_had_is_no_restart() -> None:
    found = between(VLLM, "something_else 4\n")
    assert found.restarted is None and not found.counters and not found.histograms


def test_what_is_no_number_is_left_out() -> None:
    found = between("vllm:prompt_tokens_total NaN\n", "vllm:prompt_tokens_total 5\nvllm:generation_tokens_total NaN\n")
    assert not found.counters and found.restarted is None
