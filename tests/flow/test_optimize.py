"""The one thread through the whole house, on the real model and engine, with fewer blocks than a study has."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from paretoken.core.candidate import Model
from paretoken.engines.llamacpp import LlamaCpp
from paretoken.report.terminal import last_screen
from paretoken.study import optimize as optimize_module
from paretoken.study import plan as plan_module
from paretoken.study.optimize import optimize
from paretoken.study.winner import winner_of

# Minutes, and more where something else uses the cores: spinning engine threads then crawl.
pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def study(home: Path, smollm2: Model) -> Any:
    """A whole study at two streams: two blocks of six requests instead of six of twelve."""
    patch = pytest.MonkeyPatch()
    patch.setattr(plan_module, "FINAL_BLOCKS", 2)
    patch.setattr(plan_module, "final_requests", lambda _slo=(): 12)
    patch.setattr(plan_module, "FINAL_POSITIONS", 512)
    try:
        return optimize(smollm2.name, concurrency=2, output_tokens=4, budget="8 trials", home=home)
    finally:
        patch.undo()


def test_the_document_has_what_other_tools_build_on(study: Any) -> None:
    document = json.loads((study.folder / "result.json").read_text())
    assert document == json.loads(json.dumps(study.document))
    wanted = "study objective baseline hand_setting trials frontier recommended verdicts doubts definitions provenance"
    assert set(wanted.split()) <= set(document)
    assert document["baseline"]["label"] == "Q4_1 as given · 1 slot"
    assert document["hand_setting"]["label"] == "Q4_1 as given · 2 slots"
    assert document["baseline"]["candidate"]["engine_settings"]["threads"] == LlamaCpp().defaults().threads
    assert document["baseline"]["metrics"]["output_tok_s"]["value"] > 0


def test_the_plausible_but_changed_model_is_refused_with_its_evidence(study: Any) -> None:
    refused = {item["label"]: item for item in study.document["refused"]}
    # The smallest are what a roofline likes best, and they round the most.
    label = next(name for name in refused if name.startswith(("Q4_0", "MXFP4", "IQ4_NL")))
    found = refused[label]
    assert found["behaviour"]["verdict"] == "changed"
    assert found["behaviour"]["kld"]["value"] > 0.1
    assert found["behaviour"]["same_top"]["value"] < 0.9
    assert len(found["differing_answers"]) == 2
    assert all(pair["baseline"] != pair["candidate"] for pair in found["differing_answers"])
    assert label not in [row["label"] for row in study.document["frontier"]]
    assert label in [row["label"] for row in study.document["candidates"]]
    states = {trial["candidate"]["label"]: trial["state"] for trial in study.document["trials"]}
    assert states[label] == "refused"


def test_the_last_screen_is_at_most_twelve_plain_lines(study: Any) -> None:
    lines = last_screen(study.document)
    assert 3 <= len(lines) <= 12
    assert all(len(line) <= 100 and line.isprintable() for line in lines)
    refused = [item["label"].split(" ")[0] for item in study.document["refused"]]
    assert any(line.startswith("Refused: ") and any(name in line for name in refused) for line in lines)


def test_resume_runs_nothing_again(study: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Any:
        raise AssertionError("something was launched again")

    monkeypatch.setattr(LlamaCpp, "launch", refuse)
    monkeypatch.setattr(plan_module, "FINAL_BLOCKS", 2)
    monkeypatch.setattr(plan_module, "final_requests", lambda _slo=(): 12)
    monkeypatch.setattr(plan_module, "FINAL_POSITIONS", 512)
    again = optimize(resume="", home=home)
    assert again.id == study.id
    assert again.document == study.document


def test_the_page_is_written_and_needs_no_network(study: Any) -> None:
    from paretoken.report.html import render_html

    page = render_html(study.document)
    assert study.id in page
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert str(Path.home()) not in page


def test_the_winner_is_served_until_ctrl_c_and_leaves_no_process(study: Any, home: Path) -> None:
    if study.recommended is None:
        pytest.fail(f"nothing was recommended: {study.document['why']}")
    assert winner_of(home, "").label == study.recommended["label"]
    child = subprocess.Popen(
        [sys.executable, "-m", "paretoken", "--home", str(home), "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    assert child.stdout is not None
    url = urlsplit(child.stdout.readline().strip())
    connection = http.client.HTTPConnection(str(url.hostname), url.port, timeout=60)
    body = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 4}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    assert answer["choices"][0]["message"]["content"]
    os.killpg(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert child.returncode == 0, said
    assert "Stopped" in said and "Traceback" not in said
    with pytest.raises(OSError):
        http.client.HTTPConnection(str(url.hostname), url.port, timeout=2).connect()


def test_ctrl_c_reports_what_is_known(study: Any, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    shutil.copytree(home, tmp_path / "home", symlinks=True)
    monkeypatch.setattr(optimize_module, "verify_finalist", stop)
    found = optimize(resume=study.id, home=tmp_path / "home")
    assert found.document["interrupted"]
    assert found.recommended is None
    assert "interrupted" in found.document["why"]
    assert "best so far" in found.document["why"] and "slot" in found.document["why"]
    assert last_screen(found.document)


def test_sigkill_in_the_middle_leaves_no_engine_and_keeps_the_steps(tmp_path: Path, smollm2: Model) -> None:
    words = ["optimize", "--concurrency", "2", "--output-tokens", "4"]
    child = subprocess.Popen(
        [sys.executable, "-m", "paretoken", "--home", str(tmp_path), *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        steps = _wait_for_trial(tmp_path)
    finally:
        child.kill()
        child.wait()
    deadline = time.monotonic() + 10
    while _engines_of(child.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _engines_of(child.pid)
    kept = [json.loads(line)["kind"] for line in steps.read_text().splitlines() if line.endswith("}")]
    assert "first_look" in kept and "trial" in kept


def _wait_for_trial(home: Path) -> Path:
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        for path in home.glob("studies/*/study.jsonl"):
            if '"kind": "trial"' in path.read_text():
                return path
        time.sleep(0.1)
    raise AssertionError("no trial was stored")


def _engines_of(pid: int) -> list[int]:
    """Supervisors and engines whose parent was, or is, the process `pid` (orphans have been given to another)."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            line = (stat.parent / "cmdline").read_bytes()
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if b"supervisor_child" in line and parent in (pid, 1):
            found.append(int(stat.parent.name))
    return found
