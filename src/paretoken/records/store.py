"""`.paretoken/`: where runs are kept, each in a directory of its own, readable by its owner only.

    runs/ID/run.json         what was run, and what was kept of it
    runs/ID/schedule.json    what was to be sent
    runs/ID/records.jsonl    one line a request
    runs/ID/capture.bin[.z]  the timestamped reads behind them

IDs are ULIDs; no name that a user gives is ever a path. Every file carries the schema's number. It knows nothing of
what a record means.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paretoken.core.record import Record
from paretoken.errors import CaptureError
from paretoken.records.capture import COMPRESSED_NAME, RAW_NAME, Frame, read_capture
from paretoken.records.files import JSON_LIMIT, read_bounded, read_json, write_atomic, write_json
from paretoken.records.keep import close_capture, without_prompts, without_text
from paretoken.records.schema import records_from_jsonl, records_jsonl
from paretoken.records.ulid import is_ulid, new_ulid


@dataclass(frozen=True, slots=True)
class RunDir:
    """One run's files. `path` need not lie in a store: a run that was sent by somebody reads the same."""

    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def run_path(self) -> Path:
        return self.path / "run.json"

    @property
    def schedule_path(self) -> Path:
        return self.path / "schedule.json"

    @property
    def records_path(self) -> Path:
        return self.path / "records.jsonl"

    @property
    def capture_path(self) -> Path:
        """The capture as it is now: raw while the run is open, compressed once it is closed."""
        compressed = self.path / COMPRESSED_NAME
        return compressed if compressed.exists() else self.path / RAW_NAME

    def write_run(self, facts: dict[str, Any]) -> None:
        write_json(self.run_path, facts)

    def run(self) -> dict[str, Any]:
        return read_json(self.run_path)

    def write_schedule(self, schedule: dict[str, Any], *, keep_text: bool = True) -> None:
        write_json(self.schedule_path, schedule if keep_text else without_prompts(schedule))

    def schedule(self) -> dict[str, Any]:
        return read_json(self.schedule_path)

    def write_records(self, records: Iterable[Record]) -> None:
        write_atomic(self.records_path, records_jsonl(records))

    def records(self) -> list[Record]:
        data = read_bounded(self.records_path, JSON_LIMIT)
        try:
            return records_from_jsonl(data)
        except CaptureError as error:
            raise CaptureError(f"{self.records_path}: {error}") from error

    def frames(self) -> Iterator[Frame]:
        return read_capture(self.capture_path)

    def close(self, records: list[Record], *, keep_text: bool = True, raw: Path | None = None) -> dict[str, Any]:
        """Write the records and settle the capture; → what was kept, for run.json's key `capture`.

        With `keep_text=False` no word of an answer stays on the disk. `raw` is the raw capture, if it lies elsewhere.
        """
        self.write_records(records if keep_text else map(without_text, records))
        return close_capture(self.path, records, raw=raw, keep_text=keep_text)


class Store:
    """The directory `home`; it is made when the first run is."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def new_run(self) -> RunDir:
        """A new, empty run directory. Raises CaptureError where the disk refuses."""
        path = self.home / "runs" / new_ulid()
        try:
            for directory in (self.home, self.home / "runs"):
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.mkdir(mode=0o700)
        except OSError as error:
            raise CaptureError(f"{self.home} cannot hold runs: {error.strerror}; give another --home") from error
        return RunDir(path)

    def run(self, run_id: str) -> RunDir:
        """A stored run. Raises CaptureError for what is no ID, or no run of this store."""
        if not is_ulid(run_id):
            raise CaptureError(f"'{run_id[:100]}' is not a run's ID; those are 26 letters and digits")
        path = self.home / "runs" / run_id
        if not path.is_dir():
            raise CaptureError(f"there is no run {run_id} in {self.home}; is it in another --home?")
        return RunDir(path)

    def run_ids(self) -> list[str]:
        """All runs, oldest first."""
        runs = self.home / "runs"
        return sorted(path.name for path in runs.iterdir() if is_ulid(path.name)) if runs.is_dir() else []
