import json
from pathlib import Path

import pytest

from paretoken.errors import CaptureError
from paretoken.study.file import StudyFile


def test_a_step_runs_once_and_its_data_survive_a_new_process(tmp_path: Path) -> None:
    calls = []

    def make() -> dict[str, int]:
        calls.append(1)
        return {"n": 7}

    first = StudyFile(tmp_path / "S")
    assert first.once("trial", "k", make) == {"n": 7}
    assert first.once("trial", "k", make) == {"n": 7}
    assert StudyFile(tmp_path / "S").once("trial", "k", make) == {"n": 7}
    assert len(calls) == 1


def test_a_changed_key_never_hits(tmp_path: Path) -> None:
    file = StudyFile(tmp_path / "S")
    file.append("trial", "model-a", {"n": 1})
    assert file.done("trial", "model-b") is None
    assert file.done("block", "model-a") is None


def test_a_torn_last_line_is_dropped_and_the_next_step_stands_on_its_own_line(tmp_path: Path) -> None:
    file = StudyFile(tmp_path / "S")
    file.append("trial", "a", {"n": 1})
    path = tmp_path / "S" / "study.jsonl"
    with path.open("a") as out:
        out.write('{"schema": 1, "kind": "tri')
    again = StudyFile(tmp_path / "S")
    assert again.done("trial", "a") == {"n": 1}
    again.append("trial", "b", {"n": 2})
    assert [json.loads(line)["key"] for line in path.read_text().splitlines()] == ["a", "b"]


def test_a_file_that_is_torn_in_its_only_line_is_an_empty_study(tmp_path: Path) -> None:
    (tmp_path / "S").mkdir()
    (tmp_path / "S" / "study.jsonl").write_text('{"schema"')
    file = StudyFile(tmp_path / "S")
    file.append("trial", "a", {})
    assert StudyFile(tmp_path / "S").done("trial", "a") == {}


@pytest.mark.parametrize("line", ["nonsense", "[]", '{"schema": 2, "kind": "a", "key": "b", "data": {}}', "[" * 10**5])
def test_a_line_that_is_no_step_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "S").mkdir()
    (tmp_path / "S" / "study.jsonl").write_text(line + "\n")
    with pytest.raises(CaptureError, match="line 1"):
        StudyFile(tmp_path / "S")


def test_nan_is_refused_rather_than_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        StudyFile(tmp_path / "S").append("trial", "a", {"x": float("nan")})


def test_a_reader_leaves_a_line_alone_that_is_being_written(tmp_path: Path) -> None:
    file = StudyFile(tmp_path / "S")
    file.append("trial", "a", {"n": 1})
    path = tmp_path / "S" / "study.jsonl"
    with path.open("a") as out:
        out.write('{"schema": 1, "kind": "tri')
    before = path.read_bytes()
    assert StudyFile(tmp_path / "S").done("trial", "a") == {"n": 1}
    assert path.read_bytes() == before


def test_two_processes_do_not_run_one_study(tmp_path: Path) -> None:
    first = StudyFile(tmp_path / "S")
    first.lock()
    with pytest.raises(CaptureError, match="another process"):
        StudyFile(tmp_path / "S").lock()
    first.close()
    again = StudyFile(tmp_path / "S")
    again.lock()
    again.close()
