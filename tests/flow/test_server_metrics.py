"""Whole journeys of `measure` against an engine that shows metrics: what it counted is of the measured part alone."""

import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from paretoken.core.objective import Load
from paretoken.engines.llamacpp import LlamaCpp
from paretoken.engines.null import Null, NullSettings
from paretoken.engines.scrape import Scrape, scrape
from paretoken.engines.script import Script, ScriptedSettings
from paretoken.engines.scripted import Scripted
from paretoken.study.bench import Bench
from paretoken.study.measure import Measurement, measure
from paretoken.study.run import Ask, run_on
from paretoken.workloads.chat import chat

SLOW = Script(ttft_s=0.02, gap_s=0.005)


def scripted(metrics: str = "true") -> Any:
    return Scripted().launch(None, ScriptedSettings(scripts=(SLOW,), metrics=metrics))


def rows(found: Measurement) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in found.as_json()["server"]["beside"]}


def inconsistent(found: Measurement) -> str | None:
    return next((d.seen for d in found.doubts if d.name == "server_timing_inconsistent"), None)


def test_the_warm_up_does_not_leak_into_the_server_s_figures(tmp_path: Path) -> None:
    """Report ST10: of six requests one is warm-up; the window's counters show the five measured ones."""
    with scripted() as running:
        found = measure(running.base_url, requests=5, warmup=1, output_tokens=8, home=tmp_path)
    document = found.as_json()
    server = document["server"]
    assert (server["name"], server["reason"], server["tried"]) == ("vllm", None, False)
    assert server["counters"]["requests"] == 5
    assert server["counters"]["output_tokens"] == 40
    assert server["histograms"]["e2e_ms"]["count"] == server["histograms"]["ttft_ms"]["count"] == 5
    assert server["gauges"]["running"] == {"before": 0, "after": 0}
    assert document["requests"]["scheduled"] == 5 and document["provenance"]["warmup"] == 1
    assert rows(found)["output_tokens"] == {"name": "output_tokens", "server": 40, "ours": 40, "compared": True}
    ttft = rows(found)["ttft_ms"]
    assert ttft["compared"] and 20 <= ttft["server"] <= ttft["ours"] + 5
    assert inconsistent(found) is None


@pytest.mark.parametrize("load", [{"concurrency": 3}, {"rate_per_s": 100.0}])
def test_of_a_closed_and_an_open_loop(tmp_path: Path, load: dict[str, Any]) -> None:
    with scripted() as running:
        found = measure(running.base_url, requests=9, warmup=4, output_tokens=5, home=tmp_path, **load)
    assert found.as_json()["server"]["counters"]["requests"] == 9
    assert found.summary.requests["ok"] == 9
    (window,) = found.summary.windows
    assert window is not None and window.start_s > 0


def test_a_run_by_duration_counts_from_the_rest_on(tmp_path: Path) -> None:
    with scripted() as running:
        found = measure(running.base_url, duration_s=0.5, warmup=3, concurrency=1, output_tokens=5, home=tmp_path)
    counts = found.summary.requests
    assert found.as_json()["server"]["counters"]["requests"] == counts["ok"] == counts["scheduled"]
    assert counts["ok"] >= 3


def test_a_server_whose_figures_cannot_be_true_is_said_to_contradict(tmp_path: Path) -> None:
    with scripted("lie") as running:
        found = measure(running.base_url, requests=6, output_tokens=8, home=tmp_path)
    assert "the server answered 12 requests while 6 of ours ran" in (inconsistent(found) or "")
    row = rows(found)["ttft_ms"]
    assert row["server"] > row["ours"] and not row["compared"]  # of whose requests, nobody knows


def test_somebody_else_who_uses_the_server_is_named(tmp_path: Path) -> None:
    def ask(url: str, stop: threading.Event) -> None:
        body = b'{"model":"m","stream":true,"max_tokens":2,"messages":[]}'
        while not stop.is_set():
            request = urllib.request.Request(f"{url}/v1/chat/completions", body, {"content-type": "application/json"})
            with urllib.request.urlopen(request) as answer:
                answer.read()
            time.sleep(0.01)

    stop = threading.Event()
    with scripted() as running:
        other = threading.Thread(target=ask, args=(running.base_url, stop))
        other.start()
        try:
            found = measure(running.base_url, requests=10, output_tokens=8, home=tmp_path)
        finally:
            stop.set()
            other.join()
    assert "others used it too" in (inconsistent(found) or "")


def test_a_server_without_metrics_is_measured_as_ever(tmp_path: Path) -> None:
    with Null().launch(None, NullSettings()) as running:
        found = measure(running.base_url, requests=4, output_tokens=2, home=tmp_path)
    document = found.as_json()
    assert document["server"]["name"] is None
    assert document["server"]["reason"].endswith("/metrics answers HTTP 404")
    assert "warm-up included" in document["host"]["window"]
    assert document["host"]["reasons"]["engine"] == "the endpoint's process is not ours"
    assert document["host"]["engine"]["cpu_ms"] is None
    assert inconsistent(found) is None


def test_a_server_that_stops_answering_its_metrics_costs_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter([True, False, True])

    def look(url: str, key: str | None) -> Scrape:
        return scrape(url, key) if next(looks) else Scrape(2.0, None, "it is silent")

    monkeypatch.setattr("paretoken.study.watch.scrape", look)
    with scripted() as running:
        found = measure(running.base_url, requests=4, output_tokens=2, home=tmp_path)
    assert found.summary.requests["ok"] == 4
    assert found.as_json()["server"]["reason"] == "not known before the measured requests: it is silent"


def test_a_search_s_runs_look_at_nothing(tmp_path: Path) -> None:
    with scripted() as running:
        bench = Bench.at(tmp_path, "scripted")
        run = run_on(bench, running, chat(requests=3, output_tokens=2, warmup=1, seed=0), Ask(Load(concurrency=1)), {})
    assert run.seen is None
    assert "server" not in (tmp_path / "runs" / run.id / "run.json").read_text()


@pytest.mark.engine
def test_the_embedded_engine_s_own_figures_agree_with_ours(tmp_path: Path) -> None:
    if LlamaCpp().missing() is not None:
        pytest.skip("needs the extra 'local'")
    found = measure("smollm2-135m", requests=6, warmup=2, concurrency=2, output_tokens=12, home=tmp_path)
    document = found.as_json()
    server, host = document["server"], document["host"]
    assert (server["name"], server["tried"], server["reason"], server["malformed_lines"]) == (
        "llama.cpp",
        True,
        None,
        0,
    )
    assert server["counters"]["output_tokens"] == 72
    assert rows(found)["output_tokens"]["compared"]
    assert rows(found)["decode_ms"]["compared"] and rows(found)["e2e_by_answers_ms"]["compared"]
    assert inconsistent(found) is None
    assert host["engine"]["cpu_ms"] > 0 and host["client"]["cpu_ms"] >= 0
    assert host["engine"]["memory_peak_bytes"] >= host["engine"]["memory_bytes"] * 0.5
