"""Replies and Records in the words of the case files: every moment is a span in milliseconds, null where unknown."""

from typing import Any

from paretoken.core.record import Record, Reply
from paretoken.units import ms


def reply_json(reply: Reply, sent_at: float | None = 0.0) -> dict[str, Any]:
    """One object with the keys of a case's `expect`. `sent_at` is the reply's own t = 0 on its clock."""

    def since_sent(moment: float | None) -> float | None:
        return None if moment is None or sent_at is None else ms(moment - sent_at)

    gaps, token_gaps = reply.itl_s, reply.itl_per_token_s
    return {
        "ok": reply.ok,
        "error": reply.error,
        "error_message": reply.error_message,
        "status": reply.status,
        "ttft_ms": since_sent(reply.chunk_at[0] if reply.chunk_at else None),
        "ttfa_ms": since_sent(reply.first_answer_at),
        "e2e_ms": since_sent(reply.ended_at),
        "tpot_ms": ms(reply.tpot_s),
        "itl_ms": [ms(gap) for gap in gaps],
        "itl_per_token_ms": None if token_gaps is None else [ms(gap) for gap in token_gaps],
        "n_chunks": reply.n_chunks,
        "output_tokens": reply.output_tokens,
        "prompt_tokens": reply.prompt_tokens,
        "cached_tokens": reply.cached_tokens,
        "reasoning_tokens": reply.reasoning_tokens,
        "finish_reason": reply.finish_reason,
        "text": reply.text,
        "reasoning_text": reply.reasoning_text,
        "tool_calls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.tool_calls],
        "n_malformed": reply.n_malformed,
        "warnings": list(reply.warnings),
    }


def record_json(record: Record) -> dict[str, Any]:
    """The reply's object with the request's own moments; `*_ms` of moments count from the run's start."""
    return {
        "request_id": record.request_id,
        "session": record.session,
        "turn": record.turn,
        "warmup": record.warmup,
        "wanted_output_tokens": record.wanted_output_tokens,
        "outcome": record.outcome,
        "due_ms": ms(record.due_at),
        "started_ms": ms(record.started_at),
        "sent_ms": ms(record.sent_at),
        "connect_ms": ms(record.connect_s),
        "connection_reused": record.connection_reused,
        "lateness_ms": ms(record.lateness_s),
        "ttft_from_due_ms": ms(record.ttft_from_due_s),
        **reply_json(record.reply, record.sent_at),
    }
