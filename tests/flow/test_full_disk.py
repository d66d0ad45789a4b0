"""A disk that takes no more: one sentence, status 1, no traceback, and nothing of before is lost.

The limit of a file's length (RLIMIT_FSIZE) stands for a full disk in whole processes: every write beyond it fails, in
the parent and in the process that sends. ENOSPC itself is put into the one write that a test is about.
"""

import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from paretoken.core.candidate import Candidate, Model
from paretoken.core.objective import Load, Objective
from paretoken.engines.base import Running
from paretoken.engines.script import Script, ScriptedSettings
from paretoken.engines.scripted import Scripted
from paretoken.errors import DiskError
from paretoken.records.store import Store
from paretoken.study.bench import Bench
from paretoken.study.file import StudyFile
from paretoken.study.steps import Steps

from ..models.gguf_builder import small_llama

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
from paretoken.cli.main import main
main(sys.argv[2:])
"""
MODEL = Model("m", "m.gguf", "f" * 64, 1)


def limited(limit_bytes: int, *words: object, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit_bytes), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **(env or {})},
    )


def one_sentence(done: subprocess.CompletedProcess[str], *said: str) -> None:
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("paretoken: ")
    for word in said:
        assert word in last, last


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with Scripted().launch(None, ScriptedSettings(scripts=(Script(texts=("word " * 40,) * 20),))) as engine:
        yield engine


def measure(running: Running, home: Path, limit_bytes: int, *more: object) -> subprocess.CompletedProcess[str]:
    words = ("measure", running.base_url, "--requests", 40, "--output-tokens", 20, *more)
    return limited(limit_bytes, "--home", home, *words)


def test_a_capture_that_the_sending_process_cannot_write(running: Running, tmp_path: Path) -> None:
    """It fails in the child; the parent says so, and what came before can be read."""
    done = measure(running, tmp_path, 60_000)
    one_sentence(done, "capture.bin", "File too large", "ulimit -f", "--home", "paretoken replay")
    (name,) = Store(tmp_path).run_ids()
    again = limited(10**9, "--home", tmp_path, "replay", name, "--json")
    assert again.returncode == 0, again.stderr
    outcomes = [request["outcome"] for request in json.loads(again.stdout)["requests"]]
    assert outcomes.count("ok") >= 3 and outcomes.count("lost") >= 3


def test_without_text_a_full_disk_leaves_none(running: Running, tmp_path: Path) -> None:
    one_sentence(measure(running, tmp_path, 60_000, "--no-text"), "capture.bin", "File too large", "--home")
    assert not any(b"word word" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize("limit_bytes", [10, 3_000])
def test_a_schedule_that_cannot_be_written(running: Running, tmp_path: Path, limit_bytes: int) -> None:
    one_sentence(measure(running, tmp_path, limit_bytes), "schedule.json", "File too large")
    (name,) = Store(tmp_path).run_ids()
    assert list((tmp_path / "runs" / name).iterdir()) == []


def test_earlier_runs_are_what_they_were(running: Running, tmp_path: Path) -> None:
    assert measure(running, tmp_path, 10**9).returncode in (0, 3)
    (first,) = Store(tmp_path).run_ids()
    before = {path: path.read_bytes() for path in (tmp_path / "runs" / first).iterdir()}
    for limit_bytes in (10, 3_000, 60_000):
        assert measure(running, tmp_path, limit_bytes).returncode == 1
    assert {path: path.read_bytes() for path in (tmp_path / "runs" / first).iterdir()} == before


def test_an_output_that_cannot_be_written_costs_nobody_the_figures(running: Running, tmp_path: Path) -> None:
    """The document of one request is longer than each file of its run, so there is a limit between them."""
    output = tmp_path / "result.json"
    words = ("measure", running.base_url, "--requests", 1, "--warmup", 0, "--output-tokens", 1, "--output", output)
    assert limited(10**9, "--home", tmp_path / "home", *words).returncode in (0, 3)
    largest = max(path.stat().st_size for path in (tmp_path / "home").rglob("*") if path.is_file())
    assert largest < output.stat().st_size - 500  # figures differ in length from run to run
    limit_bytes = (largest + output.stat().st_size) // 2
    output.write_text("of before")
    done = limited(limit_bytes, "--home", tmp_path / "home", *words)
    one_sentence(done, "result.json", "File too large", "--output")
    assert "Requests: 1 scheduled" in done.stdout
    assert output.read_text() == "of before"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["result.json"]


def test_a_table_and_a_page_that_cannot_be_written(running: Running, tmp_path: Path) -> None:
    assert measure(running, tmp_path, 10**9).returncode in (0, 3)
    (name,) = Store(tmp_path).run_ids()
    done = limited(100, "--home", tmp_path, "report", name, "--csv", tmp_path / "x.csv")
    one_sentence(done, "x.csv", "File too large", "--csv")
    assert not (tmp_path / "x.csv").exists()


def test_a_page_of_before_stays(tmp_path: Path) -> None:
    from tests.report.sample import STUDY, sample

    folder = tmp_path / "studies" / STUDY
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(sample()))
    (folder / "report.html").write_text("of before")
    one_sentence(limited(1000, "--home", tmp_path, "report", "--html"), "report.html", "File too large")
    assert (folder / "report.html").read_text() == "of before"


def test_a_model_that_cannot_be_made(tmp_path: Path) -> None:
    model = tmp_path / "m.gguf"
    model.write_bytes(small_llama().build())
    env = {"PARETOKEN_CACHE": str(tmp_path / "cache")}
    one_sentence(limited(200, "quantize", model, "--to", "F16", env=env), "File too large", "PARETOKEN_CACHE")
    assert not list((tmp_path / "cache").rglob("*.gguf"))
    made = limited(10**9, "quantize", model, "--to", "F16", env=env)
    assert made.returncode == 0, made.stderr
    output = tmp_path / "copy.gguf"
    copied = limited(200, "quantize", model, "--to", "F16", "--output", output, env=env)
    one_sentence(copied, "copy.gguf", "File too large", "--output")
    assert not output.exists()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
def test_what_the_system_says_is_said_with_a_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(_: int) -> None:
        raise OSError(number, os.strerror(number))

    run = Store(tmp_path).new_run()
    run.write_run({"n": 1})
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(DiskError, match=rf"run\.json' cannot be written: {os.strerror(number)}; .*, or give another"):
        run.write_run({"n": 2})
    assert run.run()["n"] == 1
    assert [path.name for path in run.path.iterdir()] == ["run.json"]


def steps_at(home: Path) -> Steps:
    objective = Objective(Load(concurrency=2), output_tokens=3)
    return Steps(Bench.at(home, "scripted"), StudyFile(home / "studies" / "S"), objective, seed=0, price=None)


def test_a_study_stops_at_a_full_disk_and_no_candidate_is_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (Candidate(name, "scripted", MODEL, {"slots": n}) for n, name in ((1, "one"), (2, "two")))
    done = steps_at(tmp_path).screen_speed(first, requests=6)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, hard))
        with pytest.raises(DiskError, match="File too large"):
            steps_at(tmp_path).screen_speed(second, requests=6)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    runs = len(Store(tmp_path).run_ids())
    again = steps_at(tmp_path)
    assert again.screen_speed(first, requests=6) == done
    assert len(Store(tmp_path).run_ids()) == runs, "what was done is not done again"
    assert again.screen_speed(second, requests=6).complete
