"""A closed run's records, believed only if they are whole: one for every request that its schedule sent.

In: a run's directory. Out: its Records, or a CaptureError that names the file and how to read the capture instead.
Figures over the lines that happen to be left would look like those of a shorter run.
"""

import msgspec

from paretoken.core.record import Record
from paretoken.errors import CaptureError
from paretoken.records.store import RunDir


class _Planned(msgspec.Struct, frozen=True):
    id: int


class _Schedule(msgspec.Struct, frozen=True):
    requests: tuple[_Planned, ...]
    duration_s: float | None = None


def whole_records(run: RunDir) -> list[Record]:
    """One line that was torn off the end is forgiven, unless it was the only one. Raises CaptureError."""
    try:
        schedule = msgspec.convert(run.schedule(), _Schedule)
    except msgspec.ValidationError as error:
        raise CaptureError(f"{run.schedule_path} is damaged: {error}; measure again") from error
    planned = {request.id for request in schedule.requests}
    instead = f"read its capture instead: paretoken replay {run.id}"
    try:
        records = run.records()
    except CaptureError as error:
        raise CaptureError(f"{error}; {instead}") from error
    found = {record.request_id for record in records}
    # Of a run of stated duration nobody knows how many requests fell due: only that the first did.
    missing = len(planned - found) > 1 and schedule.duration_s is None
    if missing or (planned and not found) or found - planned or len(found) != len(records):
        raise CaptureError(
            f"{run.records_path} is damaged: it has {len(records)} readable records for {len(planned)} scheduled "
            f"requests; {instead}"
        )
    return records
