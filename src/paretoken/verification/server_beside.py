"""The server's own figures beside ours, for the same requests; and where the two can't both be true.

Enters what the server counted (metrics/server_window.py) and the records of the same window; leaves rows of pairs, and
contradictions with their numbers. A server may always have been faster than the client saw: bytes travel. It cannot
have been slower, and cannot have made other tokens. Where others used the server meanwhile its times are of their
requests too, and are shown but not held against ours.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretoken.core.record import Record
from paretoken.metrics.latency import answered
from paretoken.metrics.quantiles import percentile
from paretoken.metrics.server_window import ServerWindow
from paretoken.units import MS_PER_S, show_duration
from paretoken.verification.timings import SLACK_S, SLACK_SHARE, claimed_s, contradicts, prefill_s

COUNT_SHARE = 0.01  # tokens or requests
GAP_SLACK_S = 0.001  # between two tokens there is little to lag behind


@dataclass(frozen=True, slots=True)
class Row:
    """`name` is a count, or a time in seconds."""

    name: str
    unit: str  # requests | tokens | s
    server: float
    ours: float | None
    compared: bool  # both are of the same requests

    def as_json(self) -> dict[str, Any]:
        scale, name = (MS_PER_S, f"{self.name}_ms") if self.unit == "s" else (1.0, self.name)
        ours = None if self.ours is None else round(self.ours * scale, 6)
        return {"name": name, "server": round(self.server * scale, 6), "ours": ours, "compared": self.compared}


@dataclass(frozen=True, slots=True)
class Beside:
    rows: tuple[Row, ...] = ()
    contradictions: tuple[str, ...] = ()

    def as_json(self) -> list[dict[str, Any]]:
        return [row.as_json() for row in self.rows]


def beside(window: ServerWindow | None, records: Sequence[Record]) -> Beside:
    """`records` are those that the window holds. Without a window what each answer said of itself still stands."""
    rows = list(_per_request(records))
    if window is None:
        return Beside(tuple(rows))
    ok = answered(records)
    said: list[str] = []
    alone = len(ok) == len(records)  # what failed on our side may have worked on the server's
    requests, text = _requests(window, records, len(ok))
    rows += requests
    if text is not None:
        alone = False
        said.append(text)
    for row, text in _tokens(window, records, ok, alone):
        rows.append(row)
        said += [text] if text is not None and row.compared else []
    for row, text in _times(window, ok, alone and not said):
        rows.append(row)
        said += [text] if text is not None and row.compared else []
    return Beside(tuple(rows), tuple(said))


def _per_request(records: Sequence[Record]) -> list[Row]:
    """Over the answers that carry the server's own durations."""
    pairs = [(claimed, r.e2e_s) for r in answered(records) if (claimed := claimed_s(r)) is not None and r.e2e_s]
    if not pairs:
        return []
    server, ours = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
    return [Row("e2e_by_answers", "s", server, ours, compared=True)]


def by_answers(records: Sequence[Record]) -> dict[str, Any] | None:
    """Of the answers that carry the server's own durations: by how much we waited longer than the server says that it
    worked, whole and until the first chunk, and how many say more than we waited. None where no answer says anything.
    """
    ok = answered(records)
    beyond = {
        "e2e_beyond_server_ms": [(r.e2e_s, claimed_s(r)) for r in ok],
        "ttft_beyond_prefill_ms": [(r.ttft_s, prefill_s(r)) for r in ok],
    }
    found: dict[str, Any] = {}
    for name, pairs in beyond.items():
        gaps = sorted(ours - server for ours, server in pairs if ours is not None and server is not None)
        if gaps:
            values = np.array(gaps) * MS_PER_S
            quantiles = {"p50": percentile(values, 0.5), "p95": percentile(values, 0.95), "max": float(values[-1])}
            found[name] = {"n": len(gaps), **{shown: round(value, 6) for shown, value in quantiles.items()}}
    return {**found, "contradicting": sum(contradicts(r) for r in ok)} if found else None


def _requests(window: ServerWindow, records: Sequence[Record], ok: int) -> tuple[list[Row], str | None]:
    found = window.counters.get("requests")
    if found is None and "e2e" in window.histograms:
        found = window.histograms["e2e"].count
    if found is None:
        return [], None
    sent = sum(record.sent_at is not None for record in records)
    row = Row("requests", "requests", found, float(ok), compared=True)
    slack = COUNT_SHARE * sent
    if found > sent + slack:
        return [row], f"the server answered {found:g} requests while {sent} of ours ran: others used it too"
    if found < ok - slack:
        return [row], f"the server counted {found:g} answered requests where we had {ok} answers"
    return [row], None


_COUNTS: Mapping[str, Callable[[Record], int | None]] = {
    "prompt_tokens": lambda r: r.reply.prompt_tokens,
    "prompt_tokens_computed": lambda r: (
        None if r.reply.prompt_tokens is None else r.reply.prompt_tokens - (r.reply.cached_tokens or 0)
    ),
    "cached_tokens": lambda r: r.reply.cached_tokens,
    "output_tokens": lambda r: r.reply.output_tokens,
}
_HELD = ("output_tokens", "prompt_tokens")  # what is computed or cached is counted in more than one way


def _tokens(
    window: ServerWindow, records: Sequence[Record], ok: Sequence[Record], alone: bool
) -> list[tuple[Row, str | None]]:
    found: list[tuple[Row, str | None]] = []
    for name, of in _COUNTS.items():
        if name not in window.counters:
            continue
        server, counts = window.counters[name], [of(record) for record in ok]
        known = [count for count in counts if count is not None]
        ours = float(sum(known)) if known and len(known) == len(counts) else None
        row = Row(name, "tokens", server, ours, compared=alone and ours is not None and name in _HELD)
        text = None
        if ours is not None and abs(server - ours) > COUNT_SHARE * ours:
            kind = name.replace("_", " ")
            text = f"the server counted {server:g} {kind} where the answers said {ours:g}"
            if "requests" not in window.counters and server > ours:
                text += " (or others used it too)"
        found.append((row, text))
    return found


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _decode_s(record: Record) -> float | None:
    chunks = record.reply.chunk_at
    return chunks[-1] - chunks[0] if chunks else None


def _times(window: ServerWindow, ok: Sequence[Record], alone: bool) -> list[tuple[Row, str | None]]:
    """Means of the window's histograms, and of sums that stand for each request."""
    n = len(ok)
    spans: dict[str, list[float | None]] = {
        "ttft": [r.ttft_s for r in ok],
        "e2e": [r.e2e_s for r in ok],
        "prefill": [r.ttft_s for r in ok],  # it is part of the wait for the first token
        "decode": [_decode_s(r) for r in ok],
        "tpot": [r.tpot_s for r in ok],
        "itl": [gap for r in ok for gap in r.reply.itl_s],  # a chunk of several tokens only makes ours the longer
    }
    found: list[tuple[Row, str | None]] = []
    for name, values in spans.items():
        histogram, total = window.histograms.get(name), _sum(values)
        ours = total / len(values) if total is not None else None
        if histogram is not None:
            server, count = histogram.mean, histogram.count
        elif name in window.counters and n:
            server, count = window.counters[name] / n, float(n)
        else:
            continue
        if server is None:
            continue
        same = name == "itl" or abs(count - n) <= COUNT_SHARE * n
        row = Row(name, "s", server, ours, compared=alone and same and ours is not None)
        found.append((row, _longer(name, row) or _longer_quantile(window, name, values)))
    for name in ("queue",):
        if name in window.histograms and (mean := window.histograms[name].mean) is not None:
            found.append((Row(name, "s", mean, None, compared=False), None))
        elif name in window.counters and n:
            found.append((Row(name, "s", window.counters[name] / n, None, compared=False), None))
    return found


def _allowed(name: str, ours: float) -> float:
    return ours * (1 + SLACK_SHARE) + (GAP_SLACK_S if name in ("itl", "tpot") else SLACK_S)


def _longer(name: str, row: Row) -> str | None:
    if row.ours is None or row.server <= _allowed(name, row.ours):
        return None
    return f"the server's mean {name} is {show_duration(row.server)} where we saw {show_duration(row.ours)}"


def _longer_quantile(window: ServerWindow, name: str, values: Sequence[float | None]) -> str | None:
    """Only beyond what a bucket resolves: its lower edge already lies above what we saw."""
    histogram, known = window.histograms.get(name), sorted(value for value in values if value is not None)
    if histogram is None or not known:
        return None
    for shown, q in (("p50", 0.5), ("p95", 0.95)):
        within, ours = histogram.quantiles.get(shown), percentile(np.array(known), q)
        if within is not None and math.isfinite(within.low) and within.low > _allowed(name, ours):
            low = show_duration(within.low)
            return f"the server's {shown} of {name} is above {low} where we saw {show_duration(ours)}"
    return None
