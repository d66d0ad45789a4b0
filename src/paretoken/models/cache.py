"""Where models are kept on this machine, and how files get there: whole or not at all.

Enters bytes to be kept; leaves a file under its final name, flushed to the disk, never a half of one. Knows nothing
of what the files mean. The cache holds only what can be fetched or made again.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paretoken.errors import ModelError, fix_of
from paretoken.models.shown import shown
from paretoken.units import show_bytes

if sys.platform != "win32":
    import fcntl

ANOTHER_PLACE = "set PARETOKEN_CACHE to a folder that you can write to"


def cache_dir() -> Path:
    """$PARETOKEN_CACHE, else the platform's place for caches. Not created here. Raises ModelError for a file."""
    named = os.environ.get("PARETOKEN_CACHE")
    if named:
        place = Path(named).expanduser().absolute()
        if place.exists() and not place.is_dir():
            raise ModelError(f"PARETOKEN_CACHE is '{shown(place)}', which is no folder; {ANOTHER_PLACE}")
        return place
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "paretoken"
    base = Path(os.environ.get("XDG_CACHE_HOME") or "")
    # The XDG specification says that a relative value is to be ignored.
    return (base if base.is_absolute() else Path.home() / ".cache") / "paretoken"


def made_dir(path: Path) -> Path:
    """Creates a folder of the cache, readable for its owner only. Raises ModelError."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"cannot create '{shown(path)}': {error.strerror}; {fix_of(error, ANOTHER_PLACE)}") from error
    return path


def need_space(folder: Path, count: int, what: str) -> None:
    """Refuses before the work begins what would fill the disk in its middle. Raises ModelError."""
    free = shutil.disk_usage(folder).free
    if free < count:
        raise ModelError(
            f"{what} needs {show_bytes(count)} in '{folder}', where {show_bytes(free)} are free; "
            f"free some space or {ANOTHER_PLACE}"
        )


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One maker at a time; a second one waits. The lock ends with its process, so a killed maker leaves none behind.

    Where there is no flock two makers do the work twice, and the last rename wins: slower, and still whole. Raises
    ModelError where the lock's file cannot be made."""
    not_in_the_way(path)
    with refused(path):
        file = path.open("ab")
    with file:
        if sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def work_dir(parent: Path) -> Iterator[Path]:
    """A folder beside the final place (the same file system, so that a rename is atomic), removed in every ending.
    Raises ModelError where there can be none."""
    with refused(parent):
        path = Path(tempfile.mkdtemp(prefix="work-", dir=parent))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def drop_left_over(parent: Path) -> None:
    """Removes what killed makers left in `parent`. Only the holder of the lock may call it."""
    for path in parent.glob("work-*"):
        shutil.rmtree(path, ignore_errors=True)


def put(source: Path, final: Path) -> None:
    """Moves a finished file to its final name: flush, rename, flush the folder. Raises ModelError."""
    not_in_the_way(final)
    with refused(final):
        with source.open("rb+") as file:
            os.fsync(file.fileno())
        source.replace(final)
        _flush_folder(final.parent)


def not_in_the_way(path: Path) -> None:
    """Raises ModelError when a folder has the name that a file is to get: nothing here removes what it did not make."""
    if path.is_dir() and not path.is_symlink():
        raise ModelError(f"'{shown(path)}' is a folder where a file belongs; remove it and repeat the command")


@contextmanager
def refused(path: Path) -> Iterator[None]:
    """What the disk refuses of a file in the cache, as one sentence: a failed write itself names no file."""
    try:
        yield
    except OSError as error:
        raise ModelError(
            f"cannot write '{shown(path)}': {error.strerror or error}; {fix_of(error, ANOTHER_PLACE)}"
        ) from error


def put_json(final: Path, value: Mapping[str, Any]) -> None:
    with work_dir(final.parent) as folder:
        written = folder / final.name
        with refused(final):
            written.write_text(json.dumps(value, indent=1))
        put(written, final)


def read_json(path: Path) -> dict[str, Any] | None:
    """A JSON object that the cache holds, or None if there is none or it is damaged: it can be made again."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _flush_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return  # folders cannot be opened there
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
