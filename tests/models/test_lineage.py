import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from paretoken.core.candidate import Model
from paretoken.errors import ModelError
from paretoken.models import lineage
from paretoken.models.lineage import all_made, lineage_of, make

BASE = Model("tiny", "/nowhere/tiny.gguf", "a" * 64, 100)


class Maker:
    """Writes a file and counts how often it was asked to."""

    def __init__(self, content: bytes = b"new weights", fails: Exception | None = None) -> None:
        self.calls = 0
        self._content = content
        self._fails = fails

    def __call__(self, path: Path) -> Mapping[str, Any]:
        self.calls += 1
        path.write_bytes(self._content)
        if self._fails is not None:
            raise self._fails
        return {"label": "Q0"}


def made(cache: Path, build: Callable[[Path], Mapping[str, Any]], base: Model = BASE, **settings: Any) -> Model:
    return make(base, "squeeze", settings or {"to": "Q0"}, build, name="tiny-Q0", bytes_needed=10, cache=cache)


def test_a_model_is_made_once(tmp_path: Path) -> None:
    build = Maker()
    first, second = made(tmp_path, build), made(tmp_path, build)
    assert build.calls == 1
    assert first == second
    assert Path(first.path).read_bytes() == b"new weights"
    assert (first.name, first.bytes) == ("tiny-Q0", 11)


def test_the_lineage_says_what_it_was_made_from(tmp_path: Path) -> None:
    model = made(tmp_path, Maker(), to="Q0")
    note = lineage_of(model, tmp_path)
    assert note is not None
    assert note["base"] == BASE.as_json()
    assert (note["technique"], note["settings"], note["result"]) == ("squeeze", {"to": "Q0"}, {"label": "Q0"})
    assert note["file"] == {"bytes": 11, "sha256": model.fingerprint}
    assert note["schema"] == 1
    assert [entry["path"] for entry in all_made(tmp_path)] == [model.path]
    assert lineage_of(BASE, tmp_path) is None


def test_two_models_of_one_name_and_two_settings_never_meet(tmp_path: Path) -> None:
    """Case sr-cache-key: two models of one name got the same cached result."""
    build = Maker()
    other = Model(BASE.name, BASE.path, "b" * 64, BASE.bytes)
    paths = {
        made(tmp_path, build, BASE, to="Q0").path,
        made(tmp_path, build, BASE, to="Q1").path,
        made(tmp_path, build, other, to="Q0").path,
        make(BASE, "prune", {"to": "Q0"}, build, name="x", bytes_needed=1, cache=tmp_path).path,
    }
    assert len(paths) == build.calls == 4


def test_another_version_of_the_tool_makes_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = Maker()
    made(tmp_path, build)
    monkeypatch.setattr(lineage, "__version__", "99")
    made(tmp_path, build)
    assert build.calls == 2


@pytest.mark.parametrize("damage", ["content", "cut", "gone", "note", "note gone"])
def test_what_is_not_intact_is_made_again(tmp_path: Path, damage: str) -> None:
    build = Maker()
    path = Path(made(tmp_path, build).path)
    note = path.with_name("lineage.json")
    if damage == "content":
        path.write_bytes(b"NEW weights")
    elif damage == "cut":
        path.write_bytes(b"new")
    elif damage == "gone":
        path.unlink()
    elif damage == "note":
        note.write_text("{")
    else:
        note.unlink()
    again = made(tmp_path, build)
    assert build.calls == 2
    assert Path(again.path).read_bytes() == b"new weights"
    assert json.loads(note.read_text())["file"]["sha256"] == again.fingerprint


def test_a_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    for error, message in (
        (ModelError("a NaN"), "a NaN"),
        (OSError(28, "No space left on device"), "cannot write .*No space left.*make room"),
    ):
        with pytest.raises(ModelError, match=message):
            made(tmp_path, Maker(fails=error))
    left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert left == ["make.lock"]
    assert all_made(tmp_path) == []


def test_what_a_killed_maker_left_is_removed_by_the_next(tmp_path: Path) -> None:
    folder = Path(made(tmp_path, Maker()).path).parent
    (folder / "model.gguf").unlink()
    (folder / "work-killed").mkdir()
    (folder / "work-killed" / "model.gguf").write_bytes(b"half")
    made(tmp_path, Maker())
    assert sorted(path.name for path in folder.iterdir()) == ["lineage.json", "make.lock", "model.gguf"]


def test_two_makers_at_once_make_it_once(tmp_path: Path) -> None:
    started, go = threading.Event(), threading.Event()
    calls: list[Path] = []

    def build(path: Path) -> Mapping[str, Any]:
        calls.append(path)
        started.set()
        go.wait(10)
        path.write_bytes(b"new weights")
        return {}

    found: list[Model] = []
    threads = [threading.Thread(target=lambda: found.append(made(tmp_path, build))) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert started.wait(10)
    go.set()
    for thread in threads:
        thread.join(10)
    assert len(calls) == 1
    assert len(found) == 3
    assert len(set(found)) == 1


def test_names_and_settings_become_no_part_of_a_path(tmp_path: Path) -> None:
    cache = tmp_path / "out"
    hostile = Model("../../etc/acme", "/nowhere", "../" * 20, 1)
    make(hostile, "../up", {"to": "../../x"}, Maker(), name="../../y", bytes_needed=1, cache=cache)
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


def test_too_little_space_is_refused_before_the_build(tmp_path: Path) -> None:
    build = Maker()
    with pytest.raises(ModelError, match="making squeeze of tiny needs"):
        make(BASE, "squeeze", {}, build, name="x", bytes_needed=2**60, cache=tmp_path)
    assert build.calls == 0
