import shutil
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from paretoken.errors import ModelError
from paretoken.models.cache import (
    cache_dir,
    drop_left_over,
    locked,
    made_dir,
    need_space,
    put,
    put_json,
    read_json,
    work_dir,
)


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {"PARETOKEN_CACHE": "/a/b", "XDG_CACHE_HOME": "/x"}, "/a/b"),
        ("linux", {"PARETOKEN_CACHE": "~/c"}, "/home/u/c"),
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/paretoken"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "/home/u/.cache/paretoken"),
        ("linux", {}, "/home/u/.cache/paretoken"),
        ("darwin", {"XDG_CACHE_HOME": "/x"}, "/home/u/Library/Caches/paretoken"),
    ],
)
def test_where_the_cache_is(
    monkeypatch: pytest.MonkeyPatch, platform: str, environment: dict[str, str], expected: str
) -> None:
    for name in ("PARETOKEN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/u", **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_dir() == Path(expected)


def test_a_cache_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match="PARETOKEN_CACHE"):
        made_dir(tmp_path / "file" / "models")


def test_too_little_space_is_said_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1_000_000))
    need_space(tmp_path, 1_000_000, "x")
    with pytest.raises(ModelError, match=r"making x needs 2.0 MB in .* where 1.0 MB are free"):
        need_space(tmp_path, 2_000_000, "making x")


def test_put_replaces_whole(tmp_path: Path) -> None:
    (tmp_path / "new").write_text("new")
    (tmp_path / "final").write_text("old")
    put(tmp_path / "new", tmp_path / "final")
    assert [path.name for path in tmp_path.iterdir()] == ["final"]
    assert (tmp_path / "final").read_text() == "new"


def test_json_comes_back_and_damage_is_none(tmp_path: Path) -> None:
    path = tmp_path / "n.json"
    put_json(path, {"a": [1]})
    assert read_json(path) == {"a": [1]}
    assert [entry.name for entry in tmp_path.iterdir()] == ["n.json"]
    for damaged in (b"", b"{", b"\xff\xfe", b"[1]", b"[" * 10**5):
        path.write_bytes(damaged)
        assert read_json(path) is None
    assert read_json(tmp_path / "absent") is None


def test_a_work_folder_goes_away_in_every_ending(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), work_dir(tmp_path) as work:
        (work / "half").write_text("x")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_maker_left_is_dropped_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "work-x").mkdir()
    (tmp_path / "work-x" / "half").write_text("x")
    (tmp_path / "model.gguf").write_text("x")
    drop_left_over(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]


def test_the_lock_lets_one_in_at_a_time(tmp_path: Path) -> None:
    inside = threading.Event()
    order: list[str] = []

    def second() -> None:
        inside.wait(10)
        with locked(tmp_path / "lock"):
            order.append("second")

    thread = threading.Thread(target=second)
    with locked(tmp_path / "lock"):
        thread.start()
        inside.set()
        thread.join(0.05)  # if the lock let it in, it would write first
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_what_the_disk_refuses_is_one_sentence(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"x")
    with pytest.raises(ModelError, match="cannot write"):
        put(source, tmp_path / "absent" / "final")
    with pytest.raises(ModelError, match="cannot write"), work_dir(tmp_path / "absent"):
        pass
    with pytest.raises(ModelError, match="cannot write"), locked(tmp_path / "absent" / "lock"):
        pass


def test_a_cache_that_is_no_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("PARETOKEN_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelError, match=r"PARETOKEN_CACHE .* is no folder"):
        cache_dir()
