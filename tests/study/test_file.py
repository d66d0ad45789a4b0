import errno
import json
import os
import resource
from pathlib import Path
from typing import Any

import pytest

from paretoken.errors import CaptureError, DiskError
from paretoken.study.file import StudyFile
from paretoken.study.optimize import optimize


def test_a_step_runs_once_and_its_data_survive_a_new_process(tmp_path: Path) -> None:
    calls = []

    def make() -> dict[str, int]:
        calls.append(1)
        return {"n": 7}

    first = StudyFile(tmp_path / "S")
    assert first.once("step", "k", make) == {"n": 7}
    assert first.once("step", "k", make) == {"n": 7}
    assert StudyFile(tmp_path / "S").once("step", "k", make) == {"n": 7}
    assert len(calls) == 1


def test_a_changed_key_never_hits(tmp_path: Path) -> None:
    file = StudyFile(tmp_path / "S")
    file.append("step", "model-a", {"n": 1})
    assert file.done("step", "model-b") is None
    assert file.done("block", "model-a") is None


def test_a_torn_last_line_is_dropped_and_the_next_step_stands_on_its_own_line(tmp_path: Path) -> None:
    file = StudyFile(tmp_path / "S")
    file.append("step", "a", {"n": 1})
    path = tmp_path / "S" / "study.jsonl"
    with path.open("a") as out:
        out.write('{"schema": 1, "kind": "ste')
    again = StudyFile(tmp_path / "S")
    assert again.done("step", "a") == {"n": 1}
    again.append("step", "b", {"n": 2})
    assert [json.loads(line)["key"] for line in path.read_text().splitlines()] == ["a", "b"]


def test_a_file_that_is_torn_in_its_only_line_is_an_empty_study(tmp_path: Path) -> None:
    (tmp_path / "S").mkdir()
    (tmp_path / "S" / "study.jsonl").write_text('{"schema"')
    file = StudyFile(tmp_path / "S")
    file.append("step", "a", {})
    assert StudyFile(tmp_path / "S").done("step", "a") == {}


@pytest.mark.parametrize("line", ["nonsense", "[]", '{"schema": 2, "kind": "a", "key": "b", "data": {}}', "[" * 10**5])
def test_a_line_that_is_no_step_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "S").mkdir()
    (tmp_path / "S" / "study.jsonl").write_text(line + "\n")
    with pytest.raises(CaptureError, match="line 1"):
        StudyFile(tmp_path / "S")


def test_nan_is_refused_rather_than_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        StudyFile(tmp_path / "S").append("step", "a", {"x": float("nan")})


def test_a_reader_leaves_a_line_alone_that_is_being_written(tmp_path: Path) -> None:
    file = StudyFile(tmp_path / "S")
    file.append("step", "a", {"n": 1})
    path = tmp_path / "S" / "study.jsonl"
    with path.open("a") as out:
        out.write('{"schema": 1, "kind": "ste')
    before = path.read_bytes()
    assert StudyFile(tmp_path / "S").done("step", "a") == {"n": 1}
    assert path.read_bytes() == before


def test_two_processes_do_not_run_one_study(tmp_path: Path) -> None:
    first = StudyFile(tmp_path / "S", lock=True)
    with pytest.raises(CaptureError, match="another process"):
        StudyFile(tmp_path / "S", lock=True)
    first.close()
    StudyFile(tmp_path / "S", lock=True).close()


def test_who_locks_reads_only_what_nobody_writes_any_more(tmp_path: Path) -> None:
    first = StudyFile(tmp_path / "S", lock=True)
    first.append("step", "1", {})
    with pytest.raises(CaptureError, match="another process"):
        StudyFile(tmp_path / "S", lock=True)
    first.append("step", "2", {})
    first.close()
    second = StudyFile(tmp_path / "S", lock=True)
    second.append("step", "3", {})
    second.close()
    assert [StudyFile(tmp_path / "S").done("step", key) for key in "123"] == [{}, {}, {}]


def test_a_lock_empties_nothing_that_a_link_points_to(tmp_path: Path) -> None:
    (tmp_path / "S").mkdir()
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "S" / "study.lock").symlink_to(tmp_path / "precious")
    StudyFile(tmp_path / "S", lock=True).close()
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_study_without_its_parameters_is_not_another_one(tmp_path: Path) -> None:
    folder = tmp_path / "studies" / "01M8QMEECQTKZ4VFSV3MBV64NH"
    folder.mkdir(parents=True)
    (folder / "study.jsonl").write_text("")
    with pytest.raises(CaptureError, match="lacks its parameters"):
        optimize(resume=folder.name, engine="scripted", home=tmp_path)
    assert (folder / "study.jsonl").read_text() == ""


def no_space(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_step_that_a_full_disk_took_half_of_is_not_in_the_way_of_the_next(tmp_path: Path) -> None:
    file = StudyFile(tmp_path / "S")
    file.append("step", "a", {"n": 1})
    path = tmp_path / "S" / "study.jsonl"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, limits[1]))
        with pytest.raises(DiskError, match=r"study\.jsonl' cannot be written: File too large"):
            file.append("step", "b", {"n": 2})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert file.done("step", "b") is None
    assert [json.loads(line)["key"] for line in path.read_text().splitlines()] == ["a"]
    file.append("step", "c", {"n": 3})
    assert StudyFile(tmp_path / "S").done("step", "a") == {"n": 1}
    assert [json.loads(line)["key"] for line in path.read_text().splitlines()] == ["a", "c"]


def test_half_a_line_that_could_not_be_cut_at_once_is_cut_by_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = StudyFile(tmp_path / "S")
    file.append("step", "a", {})
    path = tmp_path / "S" / "study.jsonl"

    def half(out: Any, data: bytes) -> None:
        out.write(data[:9])
        os.dup2(os.open(path, os.O_RDONLY), out.fileno())  # so that cutting it fails as well
        no_space()

    with monkeypatch.context() as patched:
        patched.setattr("paretoken.study.file._write_all", half)
        with pytest.raises(DiskError, match="No space left on device; make room"):
            file.append("step", "b", {})
    assert path.read_bytes().count(b"\n") == 1 and not path.read_bytes().endswith(b"\n")
    file.append("step", "c", {})
    assert [json.loads(line)["key"] for line in path.read_text().splitlines()] == ["a", "c"]


def test_a_step_that_did_not_reach_the_disk_is_not_done_and_those_before_it_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = StudyFile(tmp_path / "S")
    file.append("step", "a", {})
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", no_space)
        with pytest.raises(DiskError, match="No space left"):
            file.append("step", "b", {})
    again = StudyFile(tmp_path / "S")
    assert (again.done("step", "a"), again.done("step", "b")) == ({}, None)


def test_a_study_whose_first_step_cannot_be_written_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(DiskError):
        StudyFile(tmp_path / "S").append("parameters", "study", {"n": 1})
    assert not (tmp_path / "S" / "study.jsonl").exists()
