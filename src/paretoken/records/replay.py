"""What a file is measured as: FILE may be a case file, a run's ID, or a capture with its schedule.json beside it.

Out: one JSON value. For a case the keys of its `expect`; for a run the requests, each with those keys and its own.
"""

from pathlib import Path
from typing import Any

from paretoken.records.capture import is_capture
from paretoken.records.case import case_reply
from paretoken.records.read import Reading
from paretoken.records.replay_json import record_json, reply_json
from paretoken.records.reread import reread
from paretoken.records.store import RunDir, Store
from paretoken.records.ulid import is_ulid
from paretoken.units import ms


def replayed(name: str, home: Path) -> dict[str, Any]:
    """Raises CaptureError, in one sentence, for what is none of these or is broken."""
    if is_ulid(name):
        return _run_json(name, reread(Store(home).run(name)))
    path = Path(name)
    if is_capture(path):
        run = RunDir(path.absolute().parent)
        return _run_json(run.id if is_ulid(run.id) else name, reread(run, path))
    return reply_json(case_reply(path))


def _run_json(name: str, reading: Reading) -> dict[str, Any]:
    step_s = reading.stamp.clock_step_s
    return {
        "run": name,
        "clock": reading.stamp.clock,
        "clock_step_ms": None if step_s is None else ms(step_s),
        "requests": [record_json(record) for record in reading.records],
    }
