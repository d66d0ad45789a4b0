"""A case file → a Reply: a response written down by hand, with what it must be measured as.

In: a JSON object whose key `input` has `reads`, a list of [t_ms, text], each character one byte of the body (latin-1),
t = 0 when the request was sent. Out: a Reply on that clock. Raises CaptureError for anything else.
"""

from pathlib import Path

import msgspec

from paretoken.core.record import Reply
from paretoken.errors import CaptureError
from paretoken.records.files import read_bounded
from paretoken.units import MS_PER_S
from paretoken.wire import PROTOCOLS
from paretoken.wire.read import ENDS, read_reply

CASE_LIMIT = 64 * 1024 * 1024


class _Http(msgspec.Struct, frozen=True):
    status: int | None = 200
    content_type: str | None = None


class _End(msgspec.Struct, frozen=True):
    t_ms: float
    how: str


class _Input(msgspec.Struct, frozen=True):
    protocol: str
    reads: tuple[tuple[float, str], ...]
    http: _Http | None = _Http()  # null: no response head came
    end: _End | None = None  # without it: end of file with the last read


class _Case(msgspec.Struct, frozen=True):
    input: _Input


def case_reply(path: Path) -> Reply:
    data = read_bounded(path, CASE_LIMIT)
    try:
        case = msgspec.json.decode(data, type=_Case).input
    except (msgspec.MsgspecError, RecursionError) as error:
        raise CaptureError(
            f"{path} is neither a capture nor a case file (a JSON object whose input has reads): {error}"
        ) from error
    if case.protocol not in PROTOCOLS.names():
        raise CaptureError(f"{path} names a protocol that is not one of {', '.join(PROTOCOLS.names())}")
    end = case.end or _End(case.reads[-1][0] if case.reads else 0.0, "eof")
    if end.how not in ENDS:
        raise CaptureError(f"{path} ends in an unknown way; it may be one of {', '.join(ENDS)}")
    try:
        reads = [(t_ms / MS_PER_S, text.encode("latin-1")) for t_ms, text in case.reads]
    except UnicodeEncodeError as error:
        raise CaptureError(f"{path} has a character that is not one byte; its reads are latin-1") from error
    http = case.http or _Http(None)
    return read_reply(case.protocol, http.status, http.content_type, reads, (end.t_ms / MS_PER_S, end.how))
