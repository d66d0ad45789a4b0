"""What the child says while a run goes on: counts and bytes only, at most once a second, as one line of JSON."""

import msgspec

PROGRESS_EVERY_S = 1.0
DISK_STATUS = 74  # the child's exit status when the capture cannot be written: sysexits.h's EX_IOERR


class Progress(msgspec.Struct, frozen=True):
    elapsed_s: float
    started: int
    ended: int  # however they ended
    scheduled: int
    read_bytes: int

    @property
    def in_flight(self) -> int:
        return self.started - self.ended


def to_line(progress: Progress) -> bytes:
    return msgspec.json.encode(progress) + b"\n"


def from_line(line: bytes) -> Progress | None:
    """None for a line that is not progress: only our own child writes here, but it may die half-way through one."""
    try:
        return msgspec.json.decode(line, type=Progress)
    except msgspec.MsgspecError:
        return None
