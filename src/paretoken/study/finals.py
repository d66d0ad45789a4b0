"""The finals: fresh interleaved blocks of baseline, hand setting and finalist, and the verdicts that follow.

Only these are reported (decision rule 5). Enters blocks already run; leaves pooled figures, block values and effects.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paretoken.core.candidate import Candidate
from paretoken.core.doubt import DOUBTS, Doubt
from paretoken.core.objective import Load, Objective
from paretoken.core.record import Record
from paretoken.core.verdict import Effect
from paretoken.errors import EngineError, ModelError, UsageError
from paretoken.metrics.cost import Price
from paretoken.metrics.goodput import Slo
from paretoken.metrics.latency import answered
from paretoken.metrics.quantiles import needed_for_upper_end
from paretoken.metrics.summary import pooled, summarise
from paretoken.study.steps import Block, Steps
from paretoken.units import ms
from paretoken.verification.effect import abba, judge
from paretoken.verification.validity import drift, lengths_differ

RATE = "output_tok_s"
# Effects that are judged: name, whether lower is better.
GOODPUT = "goodput_req_s"
JUDGED = ((RATE, False), ("ttft_from_due_p50_ms", True), ("tpot_p50_ms", True), ("e2e_p50_ms", True))
PER_RUN_ONLY = ("too_few_requests",)  # said of the pooled sample instead
P95 = ("ttft_from_due_ms", "tpot_ms")


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

    @property
    def failed_share(self) -> float:
        counts = self.summary["requests"]
        return 1 - counts["ok"] / counts["scheduled"] if counts["scheduled"] else 1.0

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


@dataclass
class Finals:
    """The blocks so far. Who breaks is out, with the reason; the others go on."""

    by_label: dict[str, list[Block]]
    broken: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def whole_blocks(self) -> int:
        """Blocks that everyone who is still in has."""
        return min((len(found) for label, found in self.by_label.items() if label not in self.broken), default=0)


def run_finals(steps: Steps, candidates: Sequence[Candidate], *, blocks: int, requests: int) -> Finals:
    """All blocks, interleaved. A block that an earlier session left half done is run again whole: its pairs must be
    neighbours in time (decision rule 4). Ctrl-C ends it with the blocks so far."""
    named = {candidate.label: candidate for candidate in candidates}
    finals = Finals({label: [] for label in named})
    order = abba(blocks, list(named))
    try:
        for block in range(blocks):
            again = not all(steps.has_block(candidate, requests, block) for candidate in candidates)
            for label in order[block * len(named) : (block + 1) * len(named)]:
                if label in finals.broken:
                    continue
                steps.bench.talk.progress(f"finals: block {block + 1} of {blocks}, {label}")
                try:
                    finals.by_label[label].append(steps.block(named[label], requests, block, again=again))
                except (EngineError, ModelError, UsageError) as error:
                    finals.broken[label] = str(error).splitlines()[0]
                    steps.bench.talk.line(f"  {label} is out: {finals.broken[label]}")
    except KeyboardInterrupt:
        finals.interrupted = True
    return finals


def side_of(
    candidate: Candidate,
    blocks: Sequence[Block],
    load: Load,
    price: Price | None,
    seed: int,
    slo: Slo | None = None,
) -> Side:
    """`slo`: what each request has to keep to be good; without one there is no goodput."""
    each = [summarise(block.records, load=load, slo=slo, seed=seed) for block in blocks]
    goodput = {} if slo is None else {GOODPUT: tuple(found.scalars[GOODPUT].value for found in each)}
    return Side(
        candidate,
        tuple(blocks),
        pooled([block.records for block in blocks], load=load, slo=slo, price=price, seed=seed).as_json(),
        {
            RATE: tuple(found.scalars[RATE].value for found in each),
            "ttft_from_due_p50_ms": tuple(ms(found.distributions["ttft_from_due"].p50) for found in each),
            "tpot_p50_ms": tuple(ms(found.distributions["tpot"].p50) for found in each),
            "e2e_p50_ms": tuple(ms(found.distributions["e2e"].p50) for found in each),
            **goodput,
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
        for name, lower in (*JUDGED, (GOODPUT, False))
        if name in baseline.values and name in other.values
    ]


def effect_in(found: Sequence[Effect], metric: str) -> Effect | None:
    return next((effect for effect in found if effect.metric == metric), None)


def worse_than(other: Side, reference: Side, objective: Objective) -> str | None:
    """What of `other` is worse than the reference beyond the interval, or None: a median by its paired blocks, a p95 by
    its pooled interval (one block has too few requests for a p95 of its own).

    An SLO says which waits may be traded and how far, so with one nothing else is guarded; and whoever asks for the
    shortest wait has not asked for the rate.
    """
    if objective.slo:
        return None
    for effect in effects(reference, other, objective.effect_margin):
        if effect.verdict == "worse" and not (objective.goal == "latency" and effect.metric == RATE):
            return effect.metric
    for name in P95:
        ours, theirs = (side.summary["metrics"][name]["ci95"].get("p95") for side in (other, reference))
        if ours and theirs and ours[0] is not None and theirs[1] is not None and ours[0] > theirs[1]:
            return f"p95 of {name}"
    return None


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
