"""How far each span may be from what was seen: the least and the most that the stamps allow.

Enter: records. Leave: for each span of latency.SPANS a pair (least, most) in seconds, equal to the span where its
stamps are exact. A stamp is exact unless its read held several events that may have come one after another; then the
event came in (after, stamp] (core/record.py). Quantiles of the least and of the most enclose the quantile of the true
spans, since each true span lies between its own two.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from paretoken.core.record import Record
from paretoken.metrics.figures import QUANTILES, Distribution
from paretoken.metrics.quantiles import Floats, percentile

Pair = tuple[float, float]


def exact(record: Record) -> bool:
    """Whether every stamp of its answer is."""
    return not record.reply.chunk_after and record.reply.ended_after in (None, record.reply.ended_at)


def exact_share(records: Sequence[Record]) -> float | None:
    """Of the chunks of these records; None without any."""
    chunks = sum(record.reply.n_chunks for record in records)
    return 1 - sum(len(record.reply.chunk_after) for record in records) / chunks if chunks else None


def _chunk(record: Record, place: int) -> Pair | None:
    """Within which moments a chunk came."""
    reply = record.reply
    if not reply.chunk_at:
        return None
    place %= len(reply.chunk_at)
    at = reply.chunk_at[place]
    return dict(reply.chunk_after).get(place, at), at


def _first_since(moment: Callable[[Record], float | None]) -> Callable[[Record], Sequence[Pair | None]]:
    def pair(record: Record) -> Sequence[Pair | None]:
        first, start = _chunk(record, 0), moment(record)
        return (None if first is None or start is None else (first[0] - start, first[1] - start),)

    return pair


def _first_answer(record: Record) -> Sequence[Pair | None]:
    reply = record.reply
    if reply.first_answer_at is None or record.sent_at is None:
        return (None,)
    after = dict(reply.chunk_after)
    least = min((after.get(place, at) for place, at in enumerate(reply.chunk_at) if at == reply.first_answer_at))
    return ((least - record.sent_at, reply.first_answer_at - record.sent_at),)


def _whole(record: Record) -> Sequence[Pair | None]:
    ended, sent = record.reply.ended_at, record.sent_at
    if ended is None or sent is None:
        return (None,)
    after = record.reply.ended_after
    return ((min(ended, ended if after is None else after) - sent, ended - sent),)


def _per_token(record: Record) -> Sequence[Pair | None]:
    first, last, tokens = _chunk(record, 0), _chunk(record, -1), record.reply.output_tokens
    if record.tpot_s is None or first is None or last is None or tokens is None:
        return (None,)
    steps = tokens - (record.reply.chunk_tokens[0] if record.reply.chunk_tokens else 1)
    return ((max(0.0, last[0] - first[1]) / steps, (last[1] - first[0]) / steps),)


def _gaps(record: Record) -> Sequence[Pair | None]:
    reply = record.reply
    least = list(reply.chunk_at)
    for place, after in reply.chunk_after:
        least[place] = after
    return [
        (max(0.0, least[i + 1] - reply.chunk_at[i]), reply.chunk_at[i + 1] - least[i])
        for i in range(len(reply.chunk_at) - 1)
    ]


def _gaps_per_token(record: Record) -> Sequence[Pair | None]:
    counts = record.reply.chunk_tokens
    if record.reply.itl_per_token_s is None or counts is None:
        return ()
    pairs = [pair for pair in _gaps(record) if pair is not None]
    return [(low / k, high / k) for (low, high), k in zip(pairs, counts[1:], strict=True) for _ in range(k)]


# The spans that stamps of reads enter; all others are our own moments.
PAIRS: Mapping[str, Callable[[Record], Sequence[Pair | None]]] = {
    "ttft": _first_since(lambda record: record.sent_at),
    "ttft_from_due": _first_since(lambda record: record.due_at),
    "ttfa": _first_answer,
    "e2e": _whole,
    "tpot": _per_token,
    "itl": _gaps,
    "itl_per_token": _gaps_per_token,
}


def least_and_most(
    records: Sequence[Record], name: str, spans: Callable[[Record], Sequence[float | None]]
) -> tuple[Floats, Floats, Floats]:
    """The least, the seen and the most, each in ascending order."""
    seen: list[float] = []
    ends: list[Pair] = []
    for record in records:
        found = [span for span in spans(record) if span is not None]
        seen += found
        if exact(record):
            ends += [(span, span) for span in found]
        else:
            ends += [pair for pair in PAIRS[name](record) if pair is not None]
    least, most = np.array(ends, dtype=np.float64).reshape(-1, 2).T
    return np.sort(least), np.sort(np.array(seen, dtype=np.float64)), np.sort(most)


def bounded(
    seen: Distribution,
    records: Sequence[Record],
    name: str,
    spans: Callable[[Record], Sequence[float | None]],
    stamp_error_s: float | None,
) -> Distribution:
    """The distribution with the bound of each of its figures. `stamp_error_s` is the error of an exact stamp as it is
    known for the run's clock; None: not known, and then no bound is."""
    if seen.n == 0 or stamp_error_s is None:
        return seen
    if name not in PAIRS or all(map(exact, records)):
        return replace(seen, error_bound_s=stamp_error_s)
    least, _, most = least_and_most(records, name, spans)
    figures = {"mean": (seen.mean, least.mean(), most.mean())}
    figures |= {at: (seen.quantiles[at], percentile(least, q), percentile(most, q)) for at, q in QUANTILES.items()}
    bounds = {at: (float(low), float(high)) for at, (value, low, high) in figures.items() if value is not None}
    off = [max(value - low, high - value) for value, low, high in figures.values() if value is not None]
    return replace(seen, bounds=bounds, error_bound_s=max(off) + stamp_error_s)
