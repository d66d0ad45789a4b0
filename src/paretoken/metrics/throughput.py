"""Rates: output tokens and requests a second, over the window in which the load was what it was stated to be.

Enter: records and the load. Leave: the steady window with the name of its method, and the rates inside it. A request
that straddles the window's edge gives the part inside. Knows no price and no objective.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretoken.core.objective import Load
from paretoken.core.record import Record
from paretoken.metrics.bootstrap import mean_interval
from paretoken.metrics.figures import Scalar
from paretoken.metrics.latency import answered, measured
from paretoken.metrics.quantiles import Floats
from paretoken.units import ms

CLOSED = "closed loop: from all slots busy with measured requests to the first slot with nothing more to send"
OPEN = "open loop: from the first answer's end to the last arrival"
WHOLE = "whole run"
MOST_BLOCKS = 50
FEWEST_BLOCKS = 5
# Of a window, between the first and the last answer's end: equal requests of equal streams end together, in waves, and
# within one wave (completions − 1)/(last − first) says nothing of the rate.
LEAST_SPAN_SHARE = 0.25
# Answers without a token count make the sum too small; beyond this share there is no sum.
UNCOUNTED_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Window:
    """Seconds on the run's clock. `steady` is False where the whole run had to serve, `why` says why."""

    start_s: float
    end_s: float
    method: str
    steady: bool
    why: str | None = None

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s

    def as_json(self) -> dict[str, Any]:
        return {
            "start_ms": ms(self.start_s),
            "length_ms": ms(self.length_s),
            "method": self.method,
            "steady": self.steady,
            "why": self.why,
        }


def end_of(record: Record) -> float | None:
    """When the answer ended, as far as the record tells: the end marker, else the last chunk."""
    if record.reply.ended_at is not None:
        return record.reply.ended_at
    return record.reply.chunk_at[-1] if record.reply.chunk_at else None


def steady_window(records: Sequence[Record], load: Load) -> Window | None:
    """The steady part of a run, else the whole of it; None when nothing was sent."""
    sent = [r for r in measured(records) if r.started_at is not None]
    if not sent:
        return None
    closed = load.concurrency is not None
    edges = _closed_edges(records, sent, load.concurrency) if load.concurrency is not None else _open_edges(sent)
    if isinstance(edges, str):
        return _whole(sent, edges)
    start, end = edges
    if end <= start:
        return _whole(sent, "the load was never steady")
    if sum(start <= moment <= end for moment in completions(records)) < 2:
        return _whole(sent, "fewer than two requests ended while the load was steady")
    return Window(start, end, CLOSED if closed else OPEN, True)


def _closed_edges(records: Sequence[Record], sent: list[Record], slots: int) -> tuple[float, float] | str:
    """The window's edges, or why there is none.

    A session keeps its slot until its last turn has ended, so slots are counted by sessions.

    All slots are busy with measured sessions once the `slots`-th has started and no warm-up runs any more. The first
    slot with nothing more to send is the one whose session ends first after the last session was taken.
    """
    first: dict[int, Record] = {}
    last_end: dict[int, float | None] = {}
    for record in sorted(sent, key=lambda r: r.turn):
        first.setdefault(record.session, record)
        last_end[record.session] = end_of(record)
    if len(first) < slots:
        return "fewer sessions than streams"
    starts = sorted(r.started_at for r in first.values() if r.started_at is not None)
    warm = [end for r in records if r.warmup and (end := end_of(r)) is not None]
    taken = max(r.due_at for r in first.values())
    ends = [end for end in last_end.values() if end is not None and end > taken]
    return (max([starts[slots - 1], *warm]), min(ends)) if ends else "no session is known to have ended"


def _open_edges(sent: list[Record]) -> tuple[float, float]:
    """The pipeline is filled when the first answer has ended; it drains when nothing more arrives."""
    ends = [end for r in sent if (end := end_of(r)) is not None]
    last_due = max(r.due_at for r in sent)
    return min(ends, default=last_due), last_due


def _whole(sent: list[Record], why: str) -> Window:
    start = min(r.started_at for r in sent if r.started_at is not None)
    end = max([start, *(moment for r in sent if (moment := end_of(r)) is not None)])
    return Window(start, end, WHOLE, False, why)


def completions(records: Sequence[Record]) -> list[float]:
    """Moments at which measured requests were answered completely, ascending."""
    return sorted(r.reply.ended_at for r in answered(records) if r.reply.ended_at is not None)


def arrivals_of(record: Record) -> tuple[tuple[float, ...], Floats] | None:
    """When the tokens of an answer came, and how many: by each chunk's own count; else one in the first chunk and the
    rest spread evenly over the others. None when the number of tokens is unknown."""
    reply = record.reply
    if not reply.chunk_at:
        return None
    if reply.chunk_tokens is not None:
        return reply.chunk_at, np.array(reply.chunk_tokens, dtype=np.float64)
    if reply.output_tokens is None:
        return None
    later = len(reply.chunk_at) - 1
    if later == 0:
        return reply.chunk_at, np.array([reply.output_tokens], dtype=np.float64)
    spread = np.full(later + 1, (reply.output_tokens - 1) / later)
    spread[0] = 1.0
    return reply.chunk_at, spread


def tokens_in_blocks(records: Sequence[Record], edges: Floats) -> tuple[Floats, int]:
    """Output tokens that arrived in each of the blocks of time between `edges`, and how many answers had no count.

    Only what became part of an answer, or was cut off by the run's own end, counts; a failed request's tokens do not. A
    server counts at an answer's end, so the tokens of one that was cut off are taken to be as many a chunk as those of
    whole answers.
    """
    totals = np.zeros(len(edges) - 1)
    uncounted = 0
    a_chunk = _tokens_a_chunk(records)
    for record in measured(records):
        if record.outcome not in ("ok", "cancelled"):
            continue
        found = arrivals_of(record)
        if found is None and record.outcome == "cancelled" and a_chunk is not None:
            found = record.reply.chunk_at, np.full(len(record.reply.chunk_at), a_chunk)
        if found is None:
            uncounted += bool(record.reply.chunk_at)
            continue
        totals += np.histogram(found[0], bins=edges, weights=found[1])[0]
    return totals, uncounted


def _tokens_a_chunk(records: Sequence[Record]) -> float | None:
    """Over all whole answers; None where none was counted."""
    counted = [r.reply for r in answered(records) if r.reply.output_tokens is not None and r.reply.chunk_at]
    chunks = sum(len(reply.chunk_at) for reply in counted)
    return sum(reply.output_tokens or 0 for reply in counted) / chunks if chunks else None


def input_tokens_in_blocks(records: Sequence[Record], edges: Floats) -> tuple[Floats, int]:
    """Prompt tokens read in each block of time, counted when the first chunk shows that the prompt has been read."""
    totals = np.zeros(len(edges) - 1)
    uncounted = 0
    for record in answered(records):
        if record.reply.prompt_tokens is None:
            uncounted += 1
        elif record.reply.chunk_at:
            totals += np.histogram(record.reply.chunk_at[:1], bins=edges, weights=[record.reply.prompt_tokens])[0]
    return totals, uncounted


def block_edges(records: Sequence[Record], window: Window) -> Floats:
    """Blocks of time for the bootstrap: as long as a typical answer, so that neighbours are nearly independent."""
    spans = sorted(r.e2e_s for r in answered(records) if r.e2e_s is not None)
    typical = spans[len(spans) // 2] if spans else window.length_s
    count = MOST_BLOCKS if typical <= 0 else int(window.length_s / typical)
    return np.linspace(window.start_s, window.end_s, max(1, min(MOST_BLOCKS, count)) + 1)


def rate(totals: Floats, window: Window, uncounted: int, n: int, seed: int, what: str) -> Scalar:
    """Σ totals / window length, with a bootstrap over the blocks of time. `uncounted` of `n` answers had no count."""
    if window.length_s <= 0:
        return Scalar.unknown("the window has no length")
    if uncounted > UNCOUNTED_SHARE * n:
        return Scalar.unknown(f"{uncounted} of {n} answers came without {what}")
    reasons = {"value": f"a lower bound: {uncounted} of {n} answers came without {what}"} if uncounted else {}
    blocks = len(totals)
    interval = mean_interval(totals / (window.length_s / blocks), seed) if blocks >= FEWEST_BLOCKS else None
    if interval is None:
        reasons["ci95"] = f"the window holds {blocks} times a typical answer; an interval needs {FEWEST_BLOCKS}"
    return Scalar(float(totals.sum()) / window.length_s, interval, reasons)


def sustained_req_s(moments: Sequence[float]) -> float | None:
    """(completions − 1)/(last − first): what is sustained once the pipeline is full. None below two moments."""
    if len(moments) < 2 or moments[-1] <= moments[0]:
        return None
    return (len(moments) - 1) / (moments[-1] - moments[0])


def req_s(records: Sequence[Record], window: Window, edges: Floats, seed: int) -> Scalar:
    """The sustained rate inside the window; its interval is a bootstrap over blocks of time."""
    inside = [moment for moment in completions(records) if window.start_s <= moment <= window.end_s]
    if not inside:
        return Scalar(0.0, None, {"ci95": "no request was answered inside the window"})
    value = sustained_req_s(inside)
    if value is None:
        return Scalar.unknown(f"n={len(inside)}: a rate needs two answers at different moments")
    span_s = inside[-1] - inside[0]
    if span_s < LEAST_SPAN_SHARE * window.length_s:
        seen = f"all {len(inside)} answers inside the window ended within {span_s:.3g} of its {window.length_s:.3g} s"
        return Scalar.unknown(f"{seen}: one wave, not a rate")
    counts = np.histogram(inside, bins=edges)[0].astype(np.float64)
    spread = mean_interval(counts, seed) if len(counts) >= FEWEST_BLOCKS else None
    if spread is None:
        why = f"the window holds {len(counts)} times a typical answer; an interval needs {FEWEST_BLOCKS}"
        return Scalar(value, None, {"ci95": why})
    mean = float(counts.mean())
    return Scalar(value, (value * spread[0] / mean, value * spread[1] / mean))


def full_window_req_s(records: Sequence[Record]) -> Scalar:
    """Completions / (last end − first sent): with the filling and the draining of the pipeline in it."""
    sent = [r.sent_at for r in measured(records) if r.sent_at is not None]
    moments = completions(records)
    if not sent or not moments:
        return Scalar(0.0, None, {"ci95": "no request was answered"})
    length = moments[-1] - min(sent)
    if length <= 0:
        return Scalar.unknown("the run has no length")
    return Scalar(len(moments) / length, None, {"ci95": "none is given; see req_s"})
