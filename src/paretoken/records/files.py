"""Files that may be broken or hostile, read with bounds; files that must not be half written, written atomically."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from paretoken.errors import CaptureError, writing

SCHEMA = 1
JSON_LIMIT = 1024 * 1024 * 1024  # a schedule holds every prompt of a run


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A regular file for reading: a pipe or a device could hang or never end. Raises CaptureError."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise CaptureError(f"{path} is not a file; name a capture, a case file or a run's ID")
        file = path.open("rb")
    except (OSError, ValueError) as error:
        raise CaptureError(f"{path} cannot be read: {_reason(error)}") from error
    with file:
        yield file


def read_bounded(path: Path, limit: int) -> bytes:
    """The whole file, at most `limit` bytes. Raises CaptureError."""
    with opened(path) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise CaptureError(f"{path} is larger than the {limit} bytes that such a file may have")
    return data


def read_json(path: Path, limit: int = JSON_LIMIT) -> dict[str, Any]:
    """A stored JSON object of today's schema. Raises CaptureError."""
    try:
        value = msgspec.json.decode(read_bounded(path, limit))
    except (msgspec.MsgspecError, RecursionError) as error:
        raise CaptureError(f"{path} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise CaptureError(f"{path} is not a JSON object")
    if value.get("schema") != SCHEMA:
        raise CaptureError(f"{path} has schema {value.get('schema')!r}; this version reads {SCHEMA}")
    return value


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write, all or nothing, also over a crash: the name appears, or changes, when the bytes are on disk.
    Raises DiskError; whatever stood under the name is then still there."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with writing(path):
        try:
            with temporary.open("wb") as file:
                os.fchmod(file.fileno(), 0o600)
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            # Whatever went wrong; after the rename there is nothing under this name.
            temporary.unlink(missing_ok=True)
        sync_directory(path.parent)


def write_atomic(path: Path, data: bytes) -> None:
    with written_whole(path) as file:
        file.write(data)


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, value: dict[str, Any]) -> None:
    write_atomic(path, msgspec.json.encode({"schema": SCHEMA, **value}))


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
