"""The finals: fresh interleaved blocks of baseline, hand setting and finalist, and the verdicts that follow.

Only these are reported (decision rule 5). Enters blocks already run; leaves pooled figures, block values and effects.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paretoken.core.candidate import Candidate
from paretoken.core.doubt import DOUBTS, Doubt
from paretoken.core.objective import Load
from paretoken.core.record import Record
from paretoken.core.verdict import Effect
from paretoken.metrics.cost import Price
from paretoken.metrics.latency import answered
from paretoken.metrics.quantiles import needed_for_upper_end
from paretoken.metrics.summary import pooled, summarise
from paretoken.study.steps import Block, Steps
from paretoken.units import ms
from paretoken.verification.effect import abba, judge
from paretoken.verification.validity import drift, lengths_differ

RATE = "output_tok_s"
# Effects that are judged: name, whether lower is better.
JUDGED = ((RATE, False), ("ttft_from_due_p50_ms", True), ("tpot_p50_ms", True))
PER_RUN_ONLY = ("too_few_requests", "not_steady")  # said of the pooled sample instead


@dataclass(frozen=True, slots=True)
class Side:
    """One candidate in the finals."""

    candidate: Candidate
    blocks: tuple[Block, ...]
    summary: dict[str, Any]  # pooled, metrics/summary.py's JSON
    values: Mapping[str, tuple[float | None, ...]]  # metric → one value a block

    @property
    def records(self) -> list[Record]:
        return [record for block in self.blocks for record in block.records]

    def as_json(self) -> dict[str, Any]:
        ok = answered(self.records)
        return {
            "metrics": self.summary["metrics"],
            "requests": self.summary["requests"],
            "samples": {
                "ttft_from_due_ms": [ms(r.ttft_from_due_s) for r in ok if r.ttft_from_due_s is not None],
                "tpot_ms": [ms(r.tpot_s) for r in ok if r.tpot_s is not None],
            },
            "block_values": {name: list(values) for name, values in self.values.items()},
            "run_ids": [block.run_id for block in self.blocks],
            "timeline_ms": timeline_ms(ok),
        }


def timeline_ms(records: Sequence[Record]) -> list[float]:
    """When each chunk of the median request arrived after it was due."""
    whole = sorted((r for r in records if r.reply.chunk_at), key=lambda r: r.reply.chunk_at[-1] - r.due_at)
    if not whole:
        return []
    median = whole[len(whole) // 2]
    return [found for at in median.reply.chunk_at if (found := ms(at - median.due_at)) is not None]


def run_finals(steps: Steps, candidates: Sequence[Candidate], *, blocks: int, requests: int) -> dict[str, list[Block]]:
    """All blocks, interleaved. On Ctrl-C the blocks that every candidate has are kept: the exception carries on."""
    by_label: dict[str, list[Block]] = {candidate.label: [] for candidate in candidates}
    named = {candidate.label: candidate for candidate in candidates}
    order = abba(blocks, list(named))
    try:
        for index, label in enumerate(order):
            block = index // len(named)
            steps.bench.talk.progress(f"finals: block {block + 1} of {blocks}, {label}")
            by_label[label].append(steps.block(named[label], requests, block))
    except KeyboardInterrupt as error:
        raise Stopped(by_label) from error
    return by_label


class Stopped(Exception):
    """Ctrl-C during the finals, with the blocks that were complete."""

    def __init__(self, by_label: dict[str, list[Block]]) -> None:
        super().__init__("interrupted during the finals")
        self.by_label = by_label


def side_of(candidate: Candidate, blocks: Sequence[Block], load: Load, price: Price | None, seed: int) -> Side:
    each = [summarise(block.records, load=load, seed=seed) for block in blocks]
    return Side(
        candidate,
        tuple(blocks),
        pooled([block.records for block in blocks], load=load, price=price, seed=seed).as_json(),
        {
            RATE: tuple(found.scalars[RATE].value for found in each),
            "ttft_from_due_p50_ms": tuple(ms(found.distributions["ttft_from_due"].p50) for found in each),
            "tpot_p50_ms": tuple(ms(found.distributions["tpot"].p50) for found in each),
        },
    )


def effects(baseline: Side, other: Side, margin: float) -> list[Effect]:
    """One Effect a judged metric; a fatal doubt of either side forbids a verdict."""
    doubts = (*doubts_of_side(baseline), *doubts_of_side(other), *_unequal(baseline, other))
    return [
        judge(
            name,
            baseline.values[name],
            other.values[name],
            lower_is_better=lower,
            margin=margin,
            doubts=doubts,
        )
        for name, lower in JUDGED
    ]


def _unequal(a: Side, b: Side) -> tuple[Doubt, ...]:
    means = [side.summary["metrics"]["output_tokens"]["value"] for side in (a, b)]
    found = lengths_differ(*means)
    return () if found is None else (found,)


def doubts_of_side(side: Side) -> tuple[Doubt, ...]:
    """The doubts of a side's blocks, one a kind with the number of blocks; what only a single short run shows is left
    out, what only all blocks together show is added."""
    found = []
    for name in DOUBTS:
        seen = [doubt.seen for block in side.blocks for doubt in block.doubts if doubt.name == name]
        if seen and name not in PER_RUN_ONLY:
            found.append(Doubt(name, f"{side.candidate.label}: in {len(seen)} of {len(side.blocks)} blocks: {seen[0]}"))
    n, needed = len(answered(side.records)), needed_for_upper_end(0.95)
    if n < needed:
        found.append(Doubt("too_few_requests", f"{side.candidate.label}: n={n}, p95's upper end needs {needed}"))
    rates = [value for value in side.values[RATE] if value]
    drifted = drift(rates) if len(rates) == len(side.blocks) else None
    if drifted is not None:
        found.append(Doubt(drifted.name, f"{side.candidate.label}: {drifted.seen}"))
    return tuple(found)
