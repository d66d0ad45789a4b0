"""What a closed run keeps: its bytes while they are few, a sample when they are many, no text when told so.

In: a run's directory and its Records. Out: the compressed capture, a schedule without prompts, and a few words for
run.json about what was kept. Stamps are always kept. It judges nothing and reads no reply.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from paretoken.core.record import Record
from paretoken.errors import DiskError
from paretoken.records.capture import (
    COMPRESSED_NAME,
    MAGIC,
    RAW_NAME,
    READ,
    READ_LENGTH,
    Frame,
    frame_bytes,
    read_capture,
)
from paretoken.records.files import written_whole

KEPT_BYTES = 256_000_000
_SAMPLE_EVERY = 100  # beyond it, besides failures
_LEVEL = 3  # event streams repeat themselves: more effort gains little
_ALL, _SAMPLE, _NONE = "all", "failures and a 1 % sample", "none"


def close_capture(
    directory: Path,
    records: Sequence[Record],
    *,
    raw: Path | None = None,
    keep_text: bool = True,
    limit_bytes: int = KEPT_BYTES,
) -> dict[str, Any]:
    """Replace the raw capture by its compressed form. → {"bytes": read in all, "bytes_kept_of": …, "compressed": …}.

    `raw` is where the raw capture lies, if not in `directory`. If the disk refuses, it stays (with `keep_text=False` it
    goes: no text is to stay). Raises CaptureError only where the capture itself is broken.
    """
    raw = raw or directory / RAW_NAME
    total = sum(len(frame.data) for frame in read_capture(raw) if frame.kind == READ)
    keep, kept_of = _choose(total, records, keep_text, limit_bytes)
    frames = read_capture(raw)
    try:
        _write_compressed(directory / COMPRESSED_NAME, frames if keep is None else _thinned(frames, keep))
    except DiskError as error:
        answer = {"bytes": total, "compressed": False, "reason": f"the capture was not compressed: {error}"}
        if keep_text:
            return {**answer, "bytes_kept_of": _ALL}
        (directory / RAW_NAME).unlink(missing_ok=True)
        return {**answer, "bytes_kept_of": _NONE}
    (directory / RAW_NAME).unlink(missing_ok=True)
    return {"bytes": total, "bytes_kept_of": kept_of, "compressed": True}


def without_prompts(schedule: Mapping[str, Any]) -> dict[str, Any]:
    """The schedule with empty bodies."""
    return {**schedule, "requests": [{**request, "body": ""} for request in schedule["requests"]]}


def without_text(record: Record) -> Record:
    """The record without a word of prompt or answer; an error's message may quote either."""
    calls = tuple(replace(call, arguments="") for call in record.reply.tool_calls)
    return replace(
        record, reply=replace(record.reply, text="", reasoning_text="", error_message=None, tool_calls=calls)
    )


def _choose(
    total: int, records: Iterable[Record], keep_text: bool, limit_bytes: int
) -> tuple[frozenset[int] | None, str]:
    """The requests whose bytes are kept (None: all), and how that is called."""
    if not keep_text:
        return frozenset(), _NONE
    if total <= limit_bytes:
        return None, _ALL
    kept = {r.request_id for r in records if r.outcome != "ok" or r.request_id % _SAMPLE_EVERY == 0}
    return frozenset(kept), _SAMPLE


def _thinned(frames: Iterable[Frame], keep: frozenset[int]) -> Iterator[Frame]:
    for frame in frames:
        if frame.kind == READ and frame.request_id not in keep:
            yield replace(frame, kind=READ_LENGTH, data=len(frame.data).to_bytes(4, "little"))
        else:
            yield frame


def _write_compressed(path: Path, frames: Iterable[Frame]) -> None:
    deflater = zlib.compressobj(_LEVEL)
    with written_whole(path) as file:
        file.write(deflater.compress(MAGIC))
        for frame in frames:
            file.write(deflater.compress(frame_bytes(frame)))
        file.write(deflater.flush())
