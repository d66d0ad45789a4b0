"""--output writes files and replaces nothing else."""

import json
import os
import stat
from pathlib import Path

import pytest

from paretoken.cli.output import checked_output, write_output
from paretoken.errors import UsageError


def test_a_file_is_written_whole_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 250 + ".json")
    write_output(path, {"a": 1})
    path.chmod(0o640)
    write_output(path, {"a": 2})
    assert json.loads(path.read_text()) == {"a": 2}
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "there" / "target"
    target.parent.mkdir()
    link.symlink_to(target)
    for value in (1, 2):
        write_output(link, {"a": value})
        assert link.is_symlink()
        assert json.loads(target.read_text()) == {"a": value}


def test_a_pipe_is_refused_and_stays(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(UsageError, match="--json prints to stdout"):
            checked_output(path)
        with pytest.raises(UsageError, match="--json prints to stdout"):
            write_output(path, {})
    assert pipe.is_fifo() and link.is_symlink()


def test_devices_are_refused() -> None:
    with pytest.raises(UsageError, match="--json prints to stdout"):
        checked_output(Path(os.devnull))


def test_names_that_are_none(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for path, said in (
        (Path(), "names no file"),
        (tmp_path, "is a folder"),
        (tmp_path / ("n" * 300), "too long"),
        (tmp_path / "no" / "file", "there is no folder"),
        (loop, "cannot be written"),
    ):
        with pytest.raises(UsageError, match=said):
            checked_output(path)
