"""studies/ID/study.jsonl: the append-only truth of one study.

Each line is one finished step: its kind, its key, its data. A step is written and fsynced when it ends, and a torn
last line is dropped on reading; so `--resume` is nothing but running the same study again over this file: a step
whose key is already here is not run a second time (decision rule 10: a changed key never hits).
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paretoken.errors import CaptureError

if sys.platform != "win32":
    import fcntl

SCHEMA = 1
STUDY_FILE = "study.jsonl"
RESULT_FILE = "result.json"
REPORT_FILE = "report.html"
LOCK_FILE = "study.lock"


class StudyFile:
    """The steps of one study. `once` runs a step unless it is already done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / STUDY_FILE
        self._steps: dict[tuple[str, str], dict[str, Any]] = {}
        self._whole_bytes: int | None = None  # set when a torn line must be cut before the next step is written
        if self._path.exists():
            self._load()

    @property
    def id(self) -> str:
        return self.folder.name

    def lock(self) -> None:
        """For the one process that adds steps, until it ends. Raises CaptureError while another has the lock."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = (self.folder / LOCK_FILE).open("w")
        try:
            if sys.platform != "win32":
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.close()
            raise CaptureError(f"study {self.id} is being run by another process; wait for it or end it") from error

    def close(self) -> None:
        """Gives the lock back."""
        self._lock.close()

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
        line = json.dumps({"schema": SCHEMA, "kind": kind, "key": key, "data": data}, allow_nan=False)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            if self._whole_bytes is not None:
                file.truncate(self._whole_bytes)
                self._whole_bytes = None
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
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
                step = json.loads(line)
                schema, kind, key, data = step["schema"], step["kind"], step["key"], step["data"]
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                raise CaptureError(
                    f"'{self._path}' line {number} is not a step of a study; remove that line"
                ) from error
            if schema != SCHEMA or not isinstance(data, dict):
                raise CaptureError(f"'{self._path}' line {number} has schema {schema!r}; this version reads {SCHEMA}")
            self._steps[(str(kind), str(key))] = data
