import hashlib
import os
from pathlib import Path

import pytest

from paretoken.errors import ModelError
from paretoken.models import fingerprint as module
from paretoken.models.fingerprint import fingerprint


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"weights" * 1000)
    return path


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def test_it_is_the_sha256_of_the_content(file: Path, cache: Path) -> None:
    assert fingerprint(file, cache) == hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_known_file_is_not_read_again(file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fingerprint(file, cache)
    monkeypatch.setattr(module, "_sha256", lambda path: pytest.fail("read again"))
    assert fingerprint(file, cache) == first


def test_other_content_of_the_same_size_and_time_is_noticed(file: Path, cache: Path) -> None:
    first = fingerprint(file, cache)
    status = file.stat()
    file.write_bytes(b"WEIGHTS" * 1000)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert file.stat().st_mtime_ns == status.st_mtime_ns
    assert fingerprint(file, cache) == hashlib.sha256(b"WEIGHTS" * 1000).hexdigest() != first


def test_two_files_do_not_share_a_note(file: Path, cache: Path) -> None:
    other = file.with_name("other.gguf")
    other.write_bytes(b"x" * 7000)
    assert fingerprint(file, cache) != fingerprint(other, cache)
    assert len(list((cache / "fingerprints").iterdir())) == 2


@pytest.mark.parametrize("damage", [b"", b"{", b'{"identity": [], "sha256": 1}', b"[]"])
def test_a_damaged_note_is_replaced(file: Path, cache: Path, damage: bytes) -> None:
    first = fingerprint(file, cache)
    (note,) = (cache / "fingerprints").iterdir()
    note.write_bytes(damage)
    assert fingerprint(file, cache) == first
    assert first.encode() in note.read_bytes()


def test_a_note_with_nonsense_for_a_digest_does_not_count(file: Path, cache: Path) -> None:
    first = fingerprint(file, cache)
    (note,) = (cache / "fingerprints").iterdir()
    note.write_text(note.read_text().replace(first, "../../etc"))
    assert fingerprint(file, cache) == first


def test_a_cache_that_cannot_be_written_is_no_obstacle(file: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where the folder would be")
    assert fingerprint(file, tmp_path / "taken") == hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_file_that_changes_while_it_is_read_is_refused(
    file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(path: Path) -> str:
        path.write_bytes(b"still being written")
        return "0" * 64

    monkeypatch.setattr(module, "_sha256", slow)
    with pytest.raises(ModelError, match="changed while it was read"):
        fingerprint(file, cache)
    assert not cache.exists()


def test_an_absent_file_is_one_sentence(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(ModelError, match=r"cannot read the model file .*absent.gguf"):
        fingerprint(tmp_path / "absent.gguf", cache)
