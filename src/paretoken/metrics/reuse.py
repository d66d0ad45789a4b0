"""What a server says it did not have to do: prompt tokens out of its cache, answer tokens out of accepted drafts.

Enter records; leave shares, or None where the server counts nothing of the kind. The names of drafts are llama.cpp's.
"""

from collections.abc import Sequence

from paretoken.core.record import Record
from paretoken.metrics.latency import answered


def cache_hit_rate(records: Sequence[Record]) -> float | None:
    """Cached prompt tokens / prompt tokens, over the answered requests that count both."""
    counted = [
        (record.reply.cached_tokens, record.reply.prompt_tokens)
        for record in answered(records)
        if record.reply.cached_tokens is not None and record.reply.prompt_tokens
    ]
    total = sum(prompt or 0 for _, prompt in counted)
    return sum(cached or 0 for cached, _ in counted) / total if total else None


def draft_acceptance(records: Sequence[Record]) -> float | None:
    """Accepted draft tokens / drafted tokens; None where nothing was drafted. Acceptance is not speed: a draft that is
    kept may still have cost more than it saved."""
    drafted = sum(record.reply.server_timings.get("draft_n", 0.0) for record in answered(records))
    accepted = sum(record.reply.server_timings.get("draft_n_accepted", 0.0) for record in answered(records))
    return accepted / drafted if drafted > 0 else None
