"""What a model file is: the SHA-256 of its content, computed once and remembered beside the cache.

Enters a path; leaves 64 hex digits. What is remembered counts only while the file's place, size, times and inode are
the same; a file that changes while it is read is refused.
"""

import hashlib
import os
from pathlib import Path

from paretoken.errors import ModelError
from paretoken.models.cache import cache_dir, put_json, read_json
from paretoken.models.shown import shown

SCHEMA = 1
STEP_BYTES = 2**20


def fingerprint(path: Path, cache: Path | None = None) -> str:
    """SHA-256 of the file at `path`. Raises ModelError when it cannot be read or changes meanwhile."""
    path = path.absolute()
    note = (cache or cache_dir()) / "fingerprints" / f"{hashlib.sha256(os.fsencode(path)).hexdigest()}.json"
    try:
        before = _identity(path)
        known = read_json(note)
        if known is not None and known.get("identity") == before and _is_digest(known.get("sha256")):
            return str(known["sha256"])
        digest = _sha256(path)
        after = _identity(path)
    except OSError as error:
        raise ModelError(f"cannot read the model file '{shown(path)}': {error.strerror or error}") from error
    if after != before:
        raise ModelError(
            f"the model file '{shown(path)}' changed while it was read; wait until it is written and repeat"
        )
    _remember(note, {"schema": SCHEMA, "identity": after, "sha256": digest})
    return digest


def _identity(path: Path) -> list[int]:
    status = path.stat()
    # ctime too: a copy that restores the old mtime cannot set it.
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(STEP_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")


def _remember(note: Path, value: dict[str, object]) -> None:
    try:
        note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        put_json(note, value)
    except (OSError, ModelError):
        # A cache that cannot be written costs a second of hashing next time, and is no reason to refuse a model.
        return
