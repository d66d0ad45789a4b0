"""Records made by hand, for tests of what is computed from them. Moments in seconds, as in core/record.py."""

from collections.abc import Sequence
from typing import Any

from paretoken.core.record import Record, Reply


def record(
    number: int = 0,
    *,
    due_at: float = 0.0,
    sent_at: float | None = None,
    ttft_s: float = 0.1,
    tpot_s: float = 0.02,
    tokens: int | None = 5,
    outcome: str = "ok",
    error: str | None = None,
    status: int | None = 200,
    reply: dict[str, Any] | None = None,
    **fields: Any,
) -> Record:
    """One token a chunk, the end marker with the last. A request that is not ok has no chunk, unless `reply` gives
    them; `reply` and the other fields override what is made."""
    sent_at = due_at if sent_at is None else sent_at
    chunk_at: tuple[float, ...] = ()
    if outcome == "ok":
        chunk_at = tuple(sent_at + ttft_s + i * tpot_s for i in range(tokens or 1))
    end = chunk_at[-1] if chunk_at else None
    made = {
        "error": error if outcome == "failed" else None,
        "status": status,
        "chunk_at": chunk_at,
        "finish_at": end,
        "done_at": end,
        "first_answer_at": chunk_at[0] if chunk_at else None,
        "output_tokens": tokens if chunk_at else None,
    }
    about = {
        "request_id": number,
        "session": number,
        "turn": 0,
        "warmup": False,
        "wanted_output_tokens": None,
        "outcome": outcome,
        "due_at": due_at,
        "started_at": sent_at,
        "sent_at": sent_at,
        "connect_s": None,
        "connection_reused": True,
        "reply": Reply(**(made | (reply or {}))),
    }
    return Record(**(about | fields))


def failed(number: int = 0, *, error: str = "http_status", status: int | None = 503, **fields: Any) -> Record:
    return record(number, outcome="failed", error=error, status=status, **fields)


def closed_loop(
    slots: int,
    durations_s: Sequence[float],
    *,
    tokens: int = 11,
    ttft_share: float = 0.1,
    warmup: int = 0,
) -> list[Record]:
    """Single-turn requests taken in order by the slot that is free first; each lasts as long as given, the first token
    comes after `ttft_share` of it. The first `warmup` of them are warm-up."""
    free = [0.0] * slots
    made = []
    for number, duration in enumerate(durations_s):
        slot = min(range(slots), key=lambda i: free[i])
        begin = free[slot]
        free[slot] = begin + duration
        ttft = duration * ttft_share
        tpot = (duration - ttft) / (tokens - 1)
        made.append(
            record(number, due_at=begin, ttft_s=ttft, tpot_s=tpot, tokens=tokens, warmup=number < warmup),
        )
    return made
