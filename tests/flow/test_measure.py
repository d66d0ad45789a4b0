"""Whole journeys of `measure` against engines of ours that answer as told: every ending has a document."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from paretoken.engines.null import Null, NullSettings
from paretoken.engines.script import Script, ScriptedSettings
from paretoken.engines.scripted import Scripted
from paretoken.study.measure import measure
from paretoken.study.talk import Silent

COMMAND = [sys.executable, "-m", "paretoken"]
LONG = ["--requests", "500", "--output-tokens", "4"]  # half a minute


def cli(home: Path, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "--home", str(home), *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **(env or {})},
    )


def scripted(*scripts: Script, **settings: Any) -> Any:
    return Scripted().launch(None, ScriptedSettings(scripts=scripts or (Script(),), **settings))


def test_the_document_has_what_other_tools_build_on(tmp_path: Path) -> None:
    with Null().launch(None, NullSettings()) as running:
        output = tmp_path / "result.json"
        done = cli(
            tmp_path, "measure", running.base_url, "--concurrency", "2", "--requests", "20", "--output-tokens", "4",
            "--output", str(output), "--json",
        )  # fmt: skip
    # 3: another program held the core for longer than these answers of a millisecond took, and the run says so.
    assert done.returncode in (0, 3), done.stderr
    document = json.loads(done.stdout)
    assert document == json.loads(output.read_text())
    for name in ("ttft_ms", "ttft_from_due_ms", "itl_ms", "tpot_ms", "e2e_ms"):
        found = document["metrics"][name]
        assert {"n", "mean", "p50", "p90", "p95", "p99", "max", "ci95", "reasons", "error_bound_ms"} <= set(found)
        assert found["p99"] is None and "n=" in found["reasons"]["p99"]
    for name in ("output_tok_s", "req_s", "goodput_share", "goodput_req_s"):
        assert {"value", "ci95", "reasons"} <= set(document["metrics"][name])
    assert document["requests"] == {"scheduled": 20, "ok": 20, "failed": 0, "cancelled": 0, "lost": 0}
    assert document["definitions"]["ttft"] and document["definitions"]["percentiles"]
    wanted = (
        "tool_version hardware engine_args model load_mode warmup prompt_cache_policy seed started_at clock threads"
    )
    assert set(wanted.split()) <= set(document["provenance"])
    assert document["provenance"]["warmup"] == 2
    assert document["interrupted"] is False and document["ended_early"] is None
    for name in ("mbu", "mfu", "mfu_prefill"):
        assert document["metrics"][name]["reasons"]["value"] == "known only for a model that runs here"


def test_a_run_is_measured_the_same_when_its_capture_is_read_again(tmp_path: Path) -> None:
    with scripted(Script(ttft_s=0.01, gap_s=0.002)) as running:
        found = measure(running.base_url, concurrency=2, requests=6, output_tokens=5, home=tmp_path)
    done = cli(tmp_path, "replay", found.run_id, "--json")
    again = json.loads(done.stdout)
    ttfts = [r["ttft_ms"] for r in again["requests"] if not r["warmup"]]
    stored = found.as_json()["metrics"]["ttft_ms"]
    assert len(ttfts) == 6
    assert max(ttfts) == pytest.approx(stored["max"])
    assert min(ttfts) >= 10


def test_an_endpoint_that_goes_away_in_the_middle_loses_nothing(tmp_path: Path) -> None:
    with scripted(die_at_request=6, death="exit") as running:
        found = measure(running.base_url, concurrency=1, requests=10, warmup=0, output_tokens=3, home=tmp_path)
    counts = found.summary.requests
    assert counts["ok"] == 5
    assert counts["scheduled"] == 10 == sum(counts[name] for name in ("ok", "failed", "cancelled", "lost"))
    assert not found.believed
    assert "failures_high" in [doubt.name for doubt in found.doubts]


def test_a_web_page_is_not_an_inference_server(tmp_path: Path) -> None:
    with _WebPage() as url:
        done = cli(tmp_path, "measure", url, "--model", "m", "--requests", "4")
    assert done.returncode == 1
    assert "not an inference server" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


class _WebPage:
    """Any 200 with HTML, as a router's or a wiki's front page."""

    def __enter__(self) -> str:
        import http.server
        import threading

        class Page(http.server.BaseHTTPRequestHandler):
            def _answer(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", "5")
                self.end_headers()
                self.wfile.write(b"hello")

            do_GET = do_POST = _answer

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def test_all_failed_still_gives_a_strict_document_and_exit_3(tmp_path: Path) -> None:
    with scripted(Script(status=503)) as running:
        done = cli(tmp_path, "measure", running.base_url, "--model", "m", "--requests", "20", "--warmup", "0", "--json")
    assert done.returncode == 3, done.stderr

    def refuse(constant: str) -> Any:
        raise AssertionError(f"{constant} is not strict JSON")

    document = json.loads(done.stdout, parse_constant=refuse)
    # A second turn whose first turn failed is not asked; it is accounted for all the same.
    assert document["errors"] == {"http_status 503": 16, "cancelled": 4}
    assert document["metrics"]["ttft_ms"]["p50"] is None
    assert document["metrics"]["output_tok_s"]["value"] == 0
    assert document["metrics"]["error_rate"]["value"] == 1.0


def test_ctrl_c_keeps_what_there_is(tmp_path: Path) -> None:
    with scripted(Script(ttft_s=0.05, gap_s=0.01)) as running:
        child = subprocess.Popen(
            [*COMMAND, "--home", str(tmp_path), "measure", running.base_url, *LONG, "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        _wait_for_capture(tmp_path)
        os.killpg(child.pid, signal.SIGINT)
        out, err = child.communicate(timeout=30)
    assert "Traceback" not in err
    document = json.loads(out)
    counts = document["requests"]
    assert counts["ok"] > 0
    assert counts["scheduled"] == 500
    assert counts["cancelled"] > 0
    assert document["interrupted"] is True
    assert child.returncode == 3


def test_sigkill_of_us_leaves_no_process(tmp_path: Path) -> None:
    with scripted(Script(ttft_s=0.05, gap_s=0.01)) as running:
        child = subprocess.Popen(
            [*COMMAND, "--home", str(tmp_path), "measure", running.base_url, *LONG],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _wait_for_capture(tmp_path)
        child.kill()
        child.wait()
        deadline = time.monotonic() + 10
        while _mentions(str(tmp_path)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not _mentions(str(tmp_path))


def _wait_for_capture(home: Path) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if any(path.stat().st_size > 2000 for path in home.glob("runs/*/capture.bin")):
            return
        time.sleep(0.05)
    raise AssertionError("the run did not begin")


def _mentions(text: str) -> list[str]:
    """Command lines of other processes that name this test's folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line and path.parent.name != str(os.getpid()) and "pytest" not in line:
            found.append(line)
    return found


@pytest.mark.parametrize(
    ("words", "says", "status"),
    [
        (["http://127.0.0.1:1"], "127.0.0.1:1", 1),
        (["ftp://h"], "ftp", 2),
        (["no-such-model"], "no-such-model", 1),
        (["http://127.0.0.1:1", "--rate", "1", "--concurrency", "2"], "--concurrency or --rate", 2),
        (["http://127.0.0.1:1", "--requests", "5", "--duration", "5s"], "--requests or --duration", 2),
        (["http://127.0.0.1:1", "--duration", "soon"], "soon", 2),
        (["http://127.0.0.1:1", "--concurrencey", "2"], "concurrencey", 2),
        (["http://127.0.0.1:1", "--output", "/proc/nope/result.json"], "/proc/nope", 2),
        (["http://127.0.0.1:1", "--api-key-env", "PARETOKEN_NO_SUCH"], "PARETOKEN_NO_SUCH", 2),
        (["smollm2-135m", "--set", "slots"], "slots", 2),
        (["http://127.0.0.1:1", "--set", "slots=4"], "slots=4", 2),
    ],
)  # fmt: skip
def test_bad_input_gets_one_sentence(tmp_path: Path, words: list[str], says: str, status: int) -> None:
    done = cli(tmp_path, "measure", *words)
    assert done.returncode == status, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_key_on_the_command_line_is_refused_without_repeating_it(tmp_path: Path) -> None:
    for words in (["--api-key", "sk-live-ABC123"], ["--api-key=sk-live-ABC123"]):
        done = cli(tmp_path, "measure", "http://127.0.0.1:1", *words)
        assert done.returncode == 2
        assert "sk-live" not in done.stdout + done.stderr
        assert "OPENAI_API_KEY" in done.stderr


def test_a_key_from_the_environment_is_sent_and_stored_nowhere(tmp_path: Path) -> None:
    with Null().launch(None, NullSettings()) as running:
        done = cli(
            tmp_path, "measure", running.base_url, "--requests", "4", "--output-tokens", "2", "--json",
            "--api-key-env", "MY_KEY", env={"MY_KEY": "sk-live-ABC123"},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "sk-live-ABC123" not in done.stdout + done.stderr
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"sk-live-ABC123" not in path.read_bytes()


def test_no_text_keeps_no_prompt_and_no_answer(tmp_path: Path) -> None:
    with scripted(Script(texts=("SECRET-ANSWER",))) as running:
        measure(running.base_url, requests=3, output_tokens=1, keep_text=False, home=tmp_path)
    run = next((tmp_path / "runs").iterdir())
    assert "SECRET-ANSWER" not in (run / "records.jsonl").read_text()
    assert "content" not in (run / "schedule.json").read_text()


def test_a_rate_sends_by_its_schedule(tmp_path: Path) -> None:
    with Null().launch(None, NullSettings()) as running:
        found = measure(running.base_url, rate_per_s=50.0, requests=25, warmup=0, output_tokens=2, home=tmp_path)
    assert found.provenance.load_mode == "poisson"
    assert found.summary.requests["ok"] == 25


def test_a_run_that_ran_out_of_requests_before_its_duration_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paretoken.study.measure.MOST_REQUESTS", 4)
    talk = _Heard()
    with Null().launch(None, NullSettings()) as running:
        found = measure(running.base_url, duration_s=20.0, warmup=0, output_tokens=2, home=tmp_path, talk=talk)
    assert found.summary.requests["ok"] == 4
    assert found.ended_early is not None and "all 4 prepared requests" in found.ended_early
    assert found.ended_early in talk.lines
    document = found.as_json()
    assert document["ended_early"] == found.ended_early
    assert document["metrics"]["goodput_req_s"]["reasons"]["duration"] == found.ended_early


def test_a_run_that_kept_its_duration_did_not_end_early(tmp_path: Path) -> None:
    with scripted(Script(ttft_s=0.15, gap_s=0.01)) as running:
        found = measure(running.base_url, duration_s=0.5, warmup=0, output_tokens=2, home=tmp_path)
    assert found.ended_early is None


class _Heard(Silent):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        self.lines.append(text)


def test_without_text_a_killed_run_has_left_none_either(tmp_path: Path) -> None:
    with scripted(Script(ttft_s=0.02, gap_s=0.01, texts=("SECRET-ANSWER",))) as running:
        child = subprocess.Popen(
            [*COMMAND, "--home", str(tmp_path), "measure", running.base_url, *LONG, "--no-text"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 20
        while not _answers_captured(child.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert _answers_captured(child.pid), "the run did not begin"
        child.kill()
        child.wait()
    assert [path.name for path in tmp_path.glob("runs/*/*")] == ["schedule.json"]
    plan = json.loads(next(tmp_path.glob("runs/*/schedule.json")).read_text())
    assert {request["body"] for request in plan["requests"]} == {""}


def _answers_captured(pid: int) -> bool:
    """Whether a file that this process holds open, and that has no name, has an answer in it."""
    for link in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            if "(deleted)" in str(link.readlink()) and b"SECRET-ANSWER" in link.read_bytes():
                return True
        except OSError:
            continue
    return False


def test_an_slo_and_a_price_give_goodput_and_cost_now_and_in_the_report(tmp_path: Path) -> None:
    with scripted(Script(ttft_s=0.005, gap_s=0.001)) as running:
        done = cli(
            tmp_path, "measure", running.base_url, "--requests", "40", "--output-tokens", "4",
            "--slo", "p50 ttft < 20s, p95 tpot < 1ms", "--price-per-hour", "2.5", "--json",
        )  # fmt: skip
    assert done.returncode in (0, 3), done.stderr
    document = json.loads(done.stdout)
    metrics = document["metrics"]
    assert metrics["slo"] == {"ttft_ms": 20_000.0, "tpot_ms": 1.0}
    assert metrics["goodput_share"]["value"] is not None and metrics["goodput_req_s"]["value"] is not None
    assert [held["metric"] for held in document["slo"]] == ["ttft", "tpot"]
    assert document["slo"][0]["verdict"] == "met"
    cost = metrics["cost_per_mtok"]
    assert cost["price_per_hour"] == 2.5 and cost["source"] == "--price-per-hour" and cost["as_of"]
    assert cost["output"]["value"] == pytest.approx(2.5 / 3600 / metrics["output_tok_s"]["value"] * 1e6)
    again = json.loads(cli(tmp_path, "report", document["run"], "--json").stdout)
    assert again["metrics"]["cost_per_mtok"]["output"]["value"] == pytest.approx(cost["output"]["value"])
    assert again["metrics"]["goodput_share"]["value"] == metrics["goodput_share"]["value"]
    assert again["slo"] == document["slo"]
    assert "SLO: p50 ttft" in cli(tmp_path, "report", document["run"]).stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--slo", "soon"], "cannot read the limit 'soon'"),
        (["--price-per-hour", "nan"], "nan"),
        (["--slo", ""], "limit"),
    ],
)
def test_an_slo_or_a_price_that_is_none_is_refused_before_anything_is_sent(
    tmp_path: Path, words: list[str], says: str
) -> None:
    done = cli(tmp_path, "measure", "http://127.0.0.1:1", *words)
    assert done.returncode == 2
    assert says in done.stderr and "Traceback" not in done.stderr


def test_a_trace_talks_on_stderr_and_puts_its_result_on_stdout(tmp_path: Path) -> None:
    with scripted(Script(ttft_s=0.01, gap_s=0.002)) as running:
        done = cli(tmp_path, "trace", running.base_url, "Why?", "--output-tokens", "4")
    assert done.returncode == 0, done.stderr
    assert "> Why?" in done.stderr and "> Why?" not in done.stdout
    assert "ttft + tpot" in done.stdout and "ttft + tpot" not in done.stderr
