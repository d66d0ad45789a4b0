"""A stored run, read again with today's code; where its bytes were not kept, as it was read then.

In: a directory with schedule.json and a capture (and records.jsonl, where bytes are missing). Out: a Reading. Raises
CaptureError, in one sentence, for anything else.
"""

from dataclasses import replace
from pathlib import Path

from paretoken.errors import CaptureError
from paretoken.records.capture import read_capture
from paretoken.records.read import Reading, read_run
from paretoken.records.store import RunDir


def reread(run: RunDir, capture: Path | None = None) -> Reading:
    """`capture` is another file than the run's own, with the run's schedule beside it."""
    schedule = run.schedule()
    protocol = schedule.get("protocol")
    if not isinstance(protocol, str):
        raise CaptureError(f"{run.schedule_path} names no protocol")
    reading = read_run(schedule, read_capture(capture or run.capture_path), protocol)
    if not reading.bytes_missing:
        return reading
    stored = {record.request_id: record for record in run.records()}
    unknown = reading.bytes_missing - stored.keys()
    if unknown:
        raise CaptureError(f"the bytes of request {min(unknown)} were not kept, and {run.records_path} lacks it too")
    records = tuple(
        stored[record.request_id] if record.request_id in reading.bytes_missing else record
        for record in reading.records
    )
    return replace(reading, records=records)
