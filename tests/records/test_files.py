"""Bounded reads and atomic writes."""

import json
import os
import stat
from pathlib import Path

import pytest

from paretoken.errors import CaptureError, DiskError
from paretoken.records.files import read_bounded, read_json, write_atomic, write_json


def test_json_is_written_with_its_schema_and_read(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_json(path, {"model": "../../x"})
    assert json.loads(path.read_text()) == {"schema": 1, "model": "../../x"}
    assert read_json(path) == {"schema": 1, "model": "../../x"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "{}", '{"schema":2}', '{"schema":"1"}', "[" * 100_000])
def test_what_is_not_ours_gives_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(CaptureError) as refusal:
        read_json(path)
    assert str(path) in str(refusal.value)


def test_reading_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_bounded(path, 5) == b"12345"
    with pytest.raises(CaptureError, match="larger than"):
        read_bounded(path, 4)


@pytest.mark.parametrize("name", ["missing", "with\0nul", "x" * 5000])
def test_names_that_lead_nowhere(tmp_path: Path, name: str) -> None:
    with pytest.raises(CaptureError, match="cannot be read"):
        read_bounded(tmp_path / name, 5)


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(DiskError, match="No space"):
            write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
