"""studies/ID/study.jsonl: the append-only truth of one study.

Each line is one finished step: its kind, its key, its data. A step is written and fsynced when it ends, and a torn
last line is dropped on reading; so `--resume` is nothing but running the same study again over this file: a step
whose key is already here is not run a second time (decision rule 10: a changed key never hits).
"""

import contextlib
import io
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paretoken.errors import CaptureError, writing
from paretoken.study.stored import check

if sys.platform != "win32":
    import fcntl

SCHEMA = 1
STUDY_FILE = "study.jsonl"
RESULT_FILE = "result.json"
REPORT_FILE = "report.html"
LOCK_FILE = "study.lock"


class StudyFile:
    """The steps of one study. `once` runs a step unless it is already done."""

    def __init__(self, folder: Path, *, lock: bool = False) -> None:
        """`lock`: for the one process that adds steps, until `close`; it reads only what nobody writes any more. Raises
        CaptureError while another has the lock, and for a file that is damaged."""
        self.folder = folder
        self._path = folder / STUDY_FILE
        self._steps: dict[tuple[str, str], dict[str, Any]] = {}
        self._spent_before_s = 0.0  # by earlier sessions, up to their last step
        self._began_s = time.monotonic()
        self._whole_bytes: int | None = None  # where the next step belongs, if behind it stands half a line
        if lock:
            self._lock_folder()
        try:
            if self._path.exists():
                self._load()
        except CaptureError:
            if lock:
                self.close()
            raise

    @property
    def id(self) -> str:
        return self.folder.name

    def _lock_folder(self) -> None:
        with writing(self.folder / LOCK_FILE):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Opened to append: what a link of that name points to is not emptied.
            self._lock = (self.folder / LOCK_FILE).open("a")
        try:
            if sys.platform != "win32":
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.close()
            raise CaptureError(f"study {self.id} is being run by another process; wait for it or end it") from error

    def close(self) -> None:
        """Gives the lock back."""
        self._lock.close()

    @property
    def spent_s(self) -> float:
        """What this study took so far, all its sessions together; what an earlier one did after its last step is lost
        and not counted."""
        return self._spent_before_s + time.monotonic() - self._began_s

    def done(self, kind: str, key: str) -> dict[str, Any] | None:
        return self._steps.get((kind, key))

    def once(self, kind: str, key: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The stored data of this step, or else `make()`'s, stored before it is returned."""
        known = self.done(kind, key)
        if known is not None:
            return known
        data = make()
        self.append(kind, key, data)
        return data

    def append(self, kind: str, key: str, data: dict[str, Any]) -> None:
        """Raises DiskError; the steps before it are then as they were, and it itself is not among them."""
        step = {"schema": SCHEMA, "kind": kind, "key": key, "spent_s": round(self.spent_s, 3), "data": data}
        line = json.dumps(step, allow_nan=False)
        with writing(self._path):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._path.open("ab", buffering=0) as file:
                if self._whole_bytes is None:
                    self._whole_bytes = file.tell()
                file.truncate(self._whole_bytes)
                try:
                    _write_all(file, line.encode() + b"\n")
                except OSError:
                    # Half a line must not stay in the way of the next step. Where it cannot be cut now, `_whole_bytes`
                    # has it cut by the next one.
                    with contextlib.suppress(OSError):
                        file.truncate(self._whole_bytes)
                    if self._whole_bytes == 0:
                        self._path.unlink(missing_ok=True)  # a study without a step is none
                    raise
        self._whole_bytes = None
        self._steps[(kind, key)] = data

    def _load(self) -> None:
        raw = self._path.read_bytes()
        whole, _, torn = raw.rpartition(b"\n")
        if torn:
            # The process died while it wrote this line, or another is writing it just now: a reader leaves it alone,
            # and a writer cuts it, so that its next step starts on a line of its own.
            self._whole_bytes = len(whole) + 1 if whole else 0
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                step = json.loads(line, parse_constant=_no_number)
                schema, kind, key, data = step["schema"], step["kind"], step["key"], step["data"]
                if type(schema) is int and schema != SCHEMA:
                    raise CaptureError(f"'{self._path}' line {number} has schema {schema}; this version reads {SCHEMA}")
                if type(schema) is not int or not all(isinstance(name, str) for name in (kind, key)):
                    raise ValueError("its schema, kind or key is of the wrong type")
                if not isinstance(data, dict):
                    raise ValueError("its data are no object")
                check(kind, data)
                self._spent_before_s = _seconds(step.get("spent_s", self._spent_before_s))
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                # Without its first line, the parameters, a study is lost; every other step can be run again.
                way_out = "begin a new study" if number == 1 else "remove that line"
                raise CaptureError(
                    f"'{self._path}' line {number} is not a step of a study ({str(error)[:120]}); {way_out}"
                ) from error
            self._steps[(kind, key)] = data


def _write_all(file: io.FileIO, data: bytes) -> None:
    """On the disk when it returns. Raises OSError; a part may then be written."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]
    os.fsync(file.fileno())


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise ValueError("its spent_s is no number of seconds")
    return float(value)


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a number")
