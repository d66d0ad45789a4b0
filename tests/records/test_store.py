"""The store: where runs lie, who may read them, and that names are never paths."""

import stat
from pathlib import Path

import pytest

from paretoken.errors import CaptureError
from paretoken.records.store import Store
from paretoken.records.ulid import is_ulid, new_ulid


def test_a_new_run_has_its_own_directory_for_its_owner_only(tmp_path: Path) -> None:
    store = Store(tmp_path / "deep" / "home")
    run = store.new_run()
    assert is_ulid(run.id)
    assert run.path == tmp_path / "deep" / "home" / "runs" / run.id
    for directory in (store.home, store.home / "runs", run.path):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert store.run(run.id).path == run.path


def test_runs_are_listed_oldest_first_and_strangers_are_not(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.run_ids() == []
    newer, older = new_ulid(2000), new_ulid(1000)
    for name in (newer, older, "notes", "..x"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    assert store.run_ids() == [older, newer]


@pytest.mark.parametrize("name", ["", ".", "..", "../../etc/acme/tiny", "/etc", "01ARZ3NDEKTSV4RRFFQ69G5FA/", "a" * 26])
def test_a_name_that_is_no_id_never_becomes_a_path(tmp_path: Path, name: str) -> None:
    (tmp_path / "runs").mkdir()
    with pytest.raises(CaptureError, match="is not a run's ID"):
        Store(tmp_path).run(name)


def test_an_unknown_run_is_named(tmp_path: Path) -> None:
    name = new_ulid()
    with pytest.raises(CaptureError, match=name):
        Store(tmp_path).run(name)


def test_a_home_that_cannot_hold_runs_is_named(tmp_path: Path) -> None:
    home = tmp_path / "file"
    home.write_text("")
    with pytest.raises(CaptureError, match="cannot hold runs"):
        Store(home).new_run()


def test_facts_and_schedule_are_kept(tmp_path: Path) -> None:
    run = Store(tmp_path).new_run()
    run.write_run({"model": "m"})
    run.write_schedule({"requests": []})
    assert run.run() == {"schema": 1, "model": "m"}
    assert run.schedule() == {"schema": 1, "requests": []}
    with pytest.raises(CaptureError, match="records"):
        run.records()
    with pytest.raises(CaptureError, match="capture"):
        next(run.frames())
