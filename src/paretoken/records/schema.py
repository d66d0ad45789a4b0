"""Record ↔ one line of records.jsonl. Moments and spans are milliseconds there; derived numbers are left out.

In: Records, or bytes that may be torn, broken or hostile. Out: bytes, or Records, or a CaptureError. A torn last line
is dropped: the writer was killed.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec

from paretoken.core.record import ERROR_CLASSES, Record, Reply, ToolCall
from paretoken.errors import CaptureError
from paretoken.units import from_ms, ms
from paretoken.wire.read import TOKENS_LIMIT


class _Call(msgspec.Struct, frozen=True):
    id: str
    name: str
    arguments: str


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    schema: Literal[1] = 1
    request_id: int
    session: int
    turn: int
    warmup: bool
    wanted_output_tokens: int | None
    outcome: Literal["ok", "failed", "cancelled", "lost"]
    due_ms: float
    started_ms: float | None
    sent_ms: float | None
    connect_ms: float | None
    connection_reused: bool
    error: str | None
    error_message: str | None
    status: int | None
    chunk_ms: tuple[float, ...]
    chunk_after_ms: tuple[tuple[int, float], ...] = ()
    ended_after_ms: float | None = None
    chunk_tokens: tuple[int, ...] | None
    first_answer_ms: float | None
    finish_ms: float | None
    done_ms: float | None
    output_tokens: int | None
    prompt_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    finish_reason: str | None
    text: str
    reasoning_text: str
    tool_calls: tuple[_Call, ...]
    n_malformed: int
    warnings: tuple[str, ...]
    server_timings: dict[str, float]


def records_jsonl(records: Iterable[Record]) -> bytes:
    return b"".join(msgspec.json.encode(_row(record)) + b"\n" for record in records)


def records_from_jsonl(data: bytes) -> list[Record]:
    """Raises CaptureError naming the line that cannot be read."""
    *lines, _torn = data.split(b"\n")
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            row = msgspec.json.decode(line, type=_Row)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise CaptureError(f"line {number} of the stored records cannot be read: {error}") from error
        if not _coherent(row):
            raise CaptureError(f"line {number} of the stored records contradicts itself")
        records.append(_record(row))
    return records


def _coherent(row: _Row) -> bool:
    """What a Record's properties rely on."""
    tokens = row.chunk_tokens
    if any(not 0 <= place < len(row.chunk_ms) for place, _ in row.chunk_after_ms):
        return False
    return (row.error is None or row.error in ERROR_CLASSES) and (
        tokens is None
        or (len(tokens) == len(row.chunk_ms) and min(tokens, default=0) >= 0 and sum(tokens) <= TOKENS_LIMIT)
    )


def _row(record: Record) -> _Row:
    reply = record.reply
    return _Row(
        request_id=record.request_id,
        session=record.session,
        turn=record.turn,
        warmup=record.warmup,
        wanted_output_tokens=record.wanted_output_tokens,
        outcome=record.outcome,  # type: ignore[arg-type]  # a str in core, one of OUTCOMES
        due_ms=ms(record.due_at),
        started_ms=ms(record.started_at),
        sent_ms=ms(record.sent_at),
        connect_ms=ms(record.connect_s),
        connection_reused=record.connection_reused,
        error=reply.error,
        error_message=reply.error_message,
        status=reply.status,
        chunk_ms=tuple(map(ms, reply.chunk_at)),
        chunk_after_ms=tuple((place, ms(after)) for place, after in reply.chunk_after),
        ended_after_ms=ms(reply.ended_after),
        chunk_tokens=reply.chunk_tokens,
        first_answer_ms=ms(reply.first_answer_at),
        finish_ms=ms(reply.finish_at),
        done_ms=ms(reply.done_at),
        output_tokens=reply.output_tokens,
        prompt_tokens=reply.prompt_tokens,
        cached_tokens=reply.cached_tokens,
        reasoning_tokens=reply.reasoning_tokens,
        finish_reason=reply.finish_reason,
        text=reply.text,
        reasoning_text=reply.reasoning_text,
        tool_calls=tuple(_Call(call.id, call.name, call.arguments) for call in reply.tool_calls),
        n_malformed=reply.n_malformed,
        warnings=reply.warnings,
        server_timings=dict(reply.server_timings),
    )


def _record(row: _Row) -> Record:
    reply = Reply(
        error=row.error,
        error_message=row.error_message,
        status=row.status,
        chunk_at=tuple(map(from_ms, row.chunk_ms)),
        chunk_after=tuple((place, from_ms(after)) for place, after in row.chunk_after_ms),
        ended_after=from_ms(row.ended_after_ms),
        chunk_tokens=row.chunk_tokens,
        first_answer_at=from_ms(row.first_answer_ms),
        finish_at=from_ms(row.finish_ms),
        done_at=from_ms(row.done_ms),
        output_tokens=row.output_tokens,
        prompt_tokens=row.prompt_tokens,
        cached_tokens=row.cached_tokens,
        reasoning_tokens=row.reasoning_tokens,
        finish_reason=row.finish_reason,
        text=row.text,
        reasoning_text=row.reasoning_text,
        tool_calls=tuple(ToolCall(call.id, call.name, call.arguments) for call in row.tool_calls),
        n_malformed=row.n_malformed,
        warnings=row.warnings,
        server_timings=row.server_timings,
    )
    return Record(
        request_id=row.request_id,
        session=row.session,
        turn=row.turn,
        warmup=row.warmup,
        wanted_output_tokens=row.wanted_output_tokens,
        outcome=row.outcome,
        due_at=from_ms(row.due_ms),
        started_at=from_ms(row.started_ms),
        sent_at=from_ms(row.sent_ms),
        connect_s=from_ms(row.connect_ms),
        connection_reused=row.connection_reused,
        reply=reply,
    )
