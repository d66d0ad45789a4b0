import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from paretoken.cli.main import cli
from paretoken.errors import CaptureError, ParetokenError, UsageError
from paretoken.records.files import write_json
from paretoken.records.store import RunDir, Store
from paretoken.report import html
from tests.made import record
from tests.report.sample import STUDY, nothing_recommended, sample

OLDER = "01KB000000000000000000000A"


def run(home: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), "report", *words], catch_exceptions=True)


def sentence(result: Result) -> str:
    assert isinstance(result.exception, ParetokenError)
    return str(result.exception)


def keep(home: Path, study: str, document: dict[str, Any]) -> None:
    folder = home / "studies" / study
    folder.mkdir(parents=True)
    write_json(folder / "result.json", {**document, "study": study})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    keep(tmp_path, OLDER, nothing_recommended())
    keep(tmp_path, STUDY, sample())
    (tmp_path / "studies" / "01KZZZZZZZZZZZZZZZZZZZZZZZ").mkdir()  # begun, without a result
    return tmp_path


def test_the_newest_study_with_a_result_is_shown(home: Path) -> None:
    shown = run(home)
    assert shown.exit_code == 0
    assert "Recommended: Q8_0 · 8 slots" in shown.stdout
    assert "Report:" not in shown.stdout  # no page was written
    assert len(shown.stdout.splitlines()) <= 12


def test_a_study_can_be_named(home: Path) -> None:
    assert "Recommended: nothing" in run(home, OLDER).stdout


def test_the_document_comes_back_as_it_was_stored(home: Path) -> None:
    assert json.loads(run(home, STUDY, "--json").stdout) == json.loads(json.dumps(sample()))


def test_the_page_is_written_beside_its_result(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "pictures", lambda reading: {})
    path = Path(run(home, "--html").stdout.strip())
    assert path == home / "studies" / STUDY / "report.html"
    assert path.read_text().startswith("<!doctype html>")
    assert f"Report: {path}" in run(home).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["../../etc/passwd"], "not the ID of a study"),
        (["01KZZZZZZZZZZZZZZZZZZZZZZZ"], "has no result yet; go on: paretoken optimize --resume"),
        (["01KB00000000000000000000ZZ"], "there is no run"),
        (["01KB00000000000000000000ZZ", "--html"], "only a study has a page"),
        (["--html", "--json"], "choose one"),
        (["--csv", "x.csv", "--json"], "choose one"),
        (["--text"], "--csv FILE --text"),
        (["--csv", "x.csv", "--text"], "leave out --text"),
        (["--csv", "/proc/nope/x.csv"], "--csv '/proc/nope/x.csv' cannot be written"),
    ],
)
def test_what_is_not_there_is_one_sentence(home: Path, words: list[str], said: str) -> None:
    shown = run(home, *words)
    assert said in sentence(shown)
    assert isinstance(shown.exception, CaptureError | UsageError)


def test_an_empty_home_says_how_to_make_a_study(tmp_path: Path) -> None:
    assert "make one: paretoken optimize" in sentence(run(tmp_path))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"schema": 2}', "[" * 100_000])
def test_a_broken_result_is_one_sentence(home: Path, text: str) -> None:
    (home / "studies" / STUDY / "result.json").write_text(text)
    assert "result.json" in sentence(run(home))


def test_a_run_shows_its_figures(tmp_path: Path) -> None:
    stored = Store(tmp_path).new_run()
    stored.write_schedule({"requests": []})
    stored.write_records([])
    stored.write_run({"load": {"mode": "closed", "concurrency": 2}, "doubts": []})
    shown = run(tmp_path, stored.id)
    assert shown.exit_code == 0, shown.exception
    assert "Requests: 0 scheduled" in shown.stdout
    document = json.loads(run(tmp_path, stored.id, "--json").stdout)
    assert document["run"] == stored.id
    assert document["requests"]["scheduled"] == 0


def test_a_run_without_a_load_is_one_sentence(tmp_path: Path) -> None:
    stored = Store(tmp_path).new_run()
    stored.write_records([])
    stored.write_run({"load": {}})
    assert "which load" in sentence(run(tmp_path, stored.id))


def stored_run(home: Path, *, load: object = None, doubts: object = (), **schedule: object) -> RunDir:
    """A run of three answered requests."""
    stored = Store(home).new_run()
    stored.write_schedule({"requests": [{"id": number} for number in range(3)], **schedule})
    stored.write_records([record(number, due_at=float(number)) for number in range(3)])
    stored.write_run({"load": load or {"concurrency": 1}, "doubts": doubts})
    return stored


@pytest.mark.parametrize("duration_s", [None, 3.0])
@pytest.mark.parametrize("damage", ["emptied", "garbage", "middle", "doubled", "stranger"])
def test_a_damaged_run_is_never_shown_as_a_shorter_one(tmp_path: Path, damage: str, duration_s: float | None) -> None:
    stored = stored_run(tmp_path, duration_s=duration_s)
    data = stored.records_path.read_bytes()
    lines = data.splitlines(keepends=True)
    stored.records_path.write_bytes(
        {
            "emptied": b"",
            "garbage": b"\xff\x00 garbage",
            "middle": lines[0] + b"{}\n" + lines[2],
            "doubled": data + lines[0],
            "stranger": data + lines[0].replace(b'"request_id":0', b'"request_id":9'),
        }[damage]
    )
    said = sentence(run(tmp_path, stored.id))
    assert "records.jsonl" in said
    assert f"paretoken replay {stored.id}" in said


def test_half_of_a_run_is_not_a_run(tmp_path: Path) -> None:
    stored = stored_run(tmp_path)
    data = stored.records_path.read_bytes()
    stored.records_path.write_bytes(data[: len(data) // 2])
    assert "1 readable records for 3 scheduled requests" in sentence(run(tmp_path, stored.id))
    stored.records_path.write_bytes(data[:-5])  # a torn last line alone is forgiven
    assert run(tmp_path, stored.id).exit_code == 0


@pytest.mark.parametrize(
    "facts",
    [
        {"load": {"concurrency": "x"}},
        {"load": {"concurrency": -1}},
        {"load": {"concurrency": True}},
        {"load": {"rate_per_s": 0}},
        {"load": {"concurrency": 1, "rate_per_s": 1.0}},
        {"load": 5},
        {"load": {"concurrency": 1}, "doubts": 5},
        {"load": {"concurrency": 1}, "doubts": [5]},
        {"load": {"concurrency": 1}, "doubts": [{"name": 7}]},
    ],
)
def test_damaged_facts_of_a_run_are_one_sentence(tmp_path: Path, facts: dict[str, Any]) -> None:
    stored = stored_run(tmp_path)
    stored.write_run(facts)
    shown = run(tmp_path, stored.id)
    assert isinstance(shown.exception, CaptureError)
    assert "run.json" in sentence(shown)


def test_a_run_that_was_killed_can_still_be_replayed(tmp_path: Path) -> None:
    stored = stored_run(tmp_path)
    stored.run_path.unlink()
    assert f"paretoken replay {stored.id} still reads its capture" in sentence(run(tmp_path, stored.id))


def test_a_runs_doubts_are_shown(tmp_path: Path) -> None:
    doubt = {"name": "drift", "seen": "3 %", "why": "because", "do": "repeat"}
    stored = stored_run(tmp_path, doubts=[doubt])
    assert json.loads(run(tmp_path, stored.id, "--json").stdout)["doubts"] == [doubt]
    assert "Doubt, drift: 3 %" in run(tmp_path, stored.id).stdout


def test_a_runs_requests_as_a_table(tmp_path: Path) -> None:
    stored = stored_run(tmp_path)
    path = tmp_path / "requests.csv"
    assert run(tmp_path, stored.id, "--csv", str(path)).stdout == f"{path}\n"
    header, *rows = path.read_text().splitlines()
    assert header.startswith("request_id,session_id,") and "answer" not in header
    assert len(rows) == 3
    assert run(tmp_path, stored.id, "--csv", str(path), "--text").exit_code == 0
    assert ",answer," in path.read_text().splitlines()[0]


def test_a_studys_candidates_as_a_table(home: Path) -> None:
    path = home / "candidates.csv"
    assert run(home, "--csv", str(path)).exit_code == 0
    assert len(path.read_text().splitlines()) == 1 + len(sample()["candidates"])


@pytest.mark.parametrize("facts", [{"slo": 5}, {"price": {"price_per_hour": "x"}}, {"price": {"price_per_hour": -1.0}}])
def test_a_damaged_slo_or_price_is_one_sentence(tmp_path: Path, facts: dict[str, Any]) -> None:
    stored = stored_run(tmp_path)
    stored.write_run({"load": {"concurrency": 1}, **facts})
    assert "run.json" in sentence(run(tmp_path, stored.id))
