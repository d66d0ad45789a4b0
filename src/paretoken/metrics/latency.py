"""Spans of the requests that were answered, as distributions.

Enter: records. Leave: TTFT, TPOT, gaps and the rest, pooled over requests (never an average of percentiles), with
intervals. A failed request is no sample here, and never a zero; how many failed stands beside it (summary.py). Knows
neither the load nor a price.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from paretoken.core.record import Record
from paretoken.metrics.bootstrap import ratio_interval, too_few
from paretoken.metrics.bounds import bounded
from paretoken.metrics.figures import QUANTILES, Distribution
from paretoken.metrics.quantiles import Ends, Floats, Groups, percentile, quantile_interval, supported
from paretoken.units import show_duration

# Stamps of two clocks (the kernel's and ours) may disagree by this much: so far below zero is rounding, not an error.
TOLERANCE_S = 0.001


@dataclass(frozen=True, slots=True)
class Samples:
    """Spans in seconds and, for each, the number of the group it belongs to; one group a sample: independent."""

    values: Floats
    groups: Groups

    @property
    def independent(self) -> bool:
        return len(self.values) == 0 or int(self.groups.max()) + 1 == len(self.values)


# JSON name without its unit → the spans of one record. Several spans: gaps, which belong together.
SPANS: dict[str, Callable[[Record], Sequence[float | None]]] = {
    "ttft": lambda r: (r.ttft_s,),
    "ttfa": lambda r: (r.ttfa_s,),
    "ttft_from_due": lambda r: (r.ttft_from_due_s,),
    "e2e": lambda r: (r.e2e_s,),
    "tpot": lambda r: (r.tpot_s,),
    "itl": lambda r: r.reply.itl_s,
    "itl_per_token": lambda r: r.reply.itl_per_token_s or (),
    "lateness": lambda r: (r.lateness_s,),
    "connect": lambda r: (r.connect_s,),
}

WHY_NONE = {
    "ttfa": "no request had an answer chunk",
    "tpot": "no request had a known token count above its first chunk's",
    "itl": "no request had two chunks",
    "itl_per_token": "the token count of each chunk is not known",
    "connect": "every connection was reused",
}


def measured(records: Iterable[Record]) -> list[Record]:
    """Without the warm-up, which is recorded but never in the sample."""
    return [record for record in records if not record.warmup]


def answered(records: Iterable[Record]) -> list[Record]:
    return [record for record in measured(records) if record.outcome == "ok"]


def group_keys(blocks: Sequence[Sequence[Record]]) -> list[list[int]]:
    """A group number for each answered request of each block: its session's when sessions have several turns, else its
    own. Resampling and effective sample sizes go by these."""
    numbers: dict[tuple[int, int], int] = {}
    keys: list[list[int]] = []
    for index, block in enumerate(blocks):
        ok = answered(block)
        turns = len({record.session for record in ok}) < len(ok)
        keys.append(
            [numbers.setdefault((index, r.session if turns else r.request_id), len(numbers)) for r in ok],
        )
    return keys


def samples_of(blocks: Sequence[Sequence[Record]], name: str) -> Samples:
    """All spans of this name of all answered requests of all blocks, pooled."""
    spans = SPANS[name]
    values: list[float] = []
    groups: list[int] = []
    for block, keys in zip(blocks, group_keys(blocks), strict=True):
        for record, key in zip(answered(block), keys, strict=True):
            found = [span for span in spans(record) if span is not None]
            values += found
            groups += [key] * len(found)
    # Groups without a sample (a one-token answer has no TPOT) must not count as groups.
    dense = np.unique(np.array(groups, dtype=np.int64), return_inverse=True)[1].astype(np.int64)
    return Samples(np.array(values, dtype=np.float64), dense)


def run_length_s(records: Sequence[Record]) -> float:
    """From the first due moment to the last thing known to have happened. Every span must fit into it."""
    begun = [record.due_at for record in records]
    known = [
        moment
        for r in records
        for moment in (r.due_at, r.started_at, r.sent_at, r.reply.ended_at, *r.reply.chunk_at[-1:])
        if moment is not None
    ]
    return max(known) - min(begun) if begun else 0.0


def distribution(samples: Samples, *, longest_s: float, none: str, seed: int) -> Distribution:
    """The figures of one pooled sample. A span outside [0, `longest_s`] cannot be: then nothing is shown but that."""
    values = samples.values
    n = len(values)
    if n == 0:
        return Distribution.unknown(none)
    impossible = int(((values < -TOLERANCE_S) | (values > longest_s + TOLERANCE_S)).sum())
    if impossible:
        return Distribution.unknown(
            f"internal error: {impossible} of {n} lie outside 0 to {show_duration(longest_s)}, the run's length"
        )
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    groups = None if samples.independent else samples.groups[order]
    quantiles: dict[str, float | None] = {}
    ci95: dict[str, Ends | None] = {"mean": _mean_interval(samples, seed)}
    reasons: dict[str, str] = {}
    if ci95["mean"] is None:
        reasons["mean"] = too_few(int(samples.groups.max()) + 1, "requests")
    for name, q in QUANTILES.items():
        why_not = supported(q, n)
        quantiles[name] = percentile(ordered, q) if why_not is None else None
        ci95[name], why_open = quantile_interval(ordered, q, groups) if why_not is None else (None, why_not)
        if why_open is not None:
            reasons[name] = why_open
    return Distribution(n, float(values.mean()), quantiles, float(ordered[-1]), ci95, reasons)


def _mean_interval(samples: Samples, seed: int) -> Ends | None:
    sums = np.bincount(samples.groups, weights=samples.values).astype(np.float64)
    counts = np.bincount(samples.groups).astype(np.float64)
    return ratio_interval(sums, counts, seed)


def distributions(
    blocks: Sequence[Sequence[Record]], *, error_bound_s: float | None = None, seed: int = 0
) -> dict[str, Distribution]:
    """Every distribution of SPANS over the blocks' answered requests."""
    longest_s = max((run_length_s(block) for block in blocks), default=0.0)
    nothing = not any(answered(block) for block in blocks)
    found: dict[str, Distribution] = {}
    ok = [record for block in blocks for record in answered(block)]
    for name, spans in SPANS.items():
        samples = samples_of(blocks, name)
        none = "no request was answered" if nothing else WHY_NONE.get(name, "no request had one")
        shown = distribution(samples, longest_s=longest_s, none=none, seed=seed)
        found[name] = bounded(shown, ok, name, spans, error_bound_s)
    return found
