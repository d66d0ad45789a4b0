"""The finals: fresh interleaved blocks of baseline, hand setting and finalist, and the verdicts that follow.

Only these are reported (decision rule 5). Enters blocks already run; leaves pooled figures, block values and effects.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from paretoken.core.candidate import Candidate
from paretoken.core.doubt import DOUBTS, Doubt
from paretoken.core.objective import Load, Objective
from paretoken.core.record import Record
from paretoken.core.verdict import Effect
from paretoken.errors import EngineError, ModelError, UsageError
from paretoken.frontier.pareto import MOST_FAILED_SHARE
from paretoken.metrics.cost import Price
from paretoken.metrics.goodput import Slo
from paretoken.metrics.latency import answered
from paretoken.metrics.quantiles import needed_for_upper_end
from paretoken.metrics.summary import pooled, summarise
from paretoken.study.plan import ABLATION_BLOCKS
from paretoken.study.steps import Block, Steps
from paretoken.units import ms
from paretoken.verification.effect import abba, judge_all
from paretoken.verification.validity import drift, lengths_differ

RATE = "output_tok_s"
# Effects that are judged: name, whether lower is better.
GOODPUT = "goodput_req_s"
JUDGED = ((RATE, False), ("ttft_from_due_p50_ms", True), ("tpot_p50_ms", True), ("e2e_p50_ms", True))
FEWEST_OF_A_BUDGET = 3  # blocks: below, an interval is too wide to say anything
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
    """The blocks so far. Who breaks is out, with the reason; the others go on. `further` took part in the first blocks
    only."""

    by_label: dict[str, list[Block]]
    further: list[tuple[Candidate, list[Block]]] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def whole_blocks(self) -> int:
        """Blocks that everyone who is still in has."""
        return min((len(found) for label, found in self.by_label.items() if label not in self.broken), default=0)


def run_finals(
    steps: Steps,
    candidates: Sequence[Candidate],
    *,
    blocks: int,
    requests: int,
    further: Sequence[Candidate] = (),
    until_s: float | None = None,
    first_block: int = 0,
) -> Finals:
    """All blocks, interleaved. A block that an earlier session left half done is run again whole: its pairs must be
    neighbours in time (decision rule 4). Ctrl-C ends it with the blocks so far, and so does the budget (`until_s`, of
    the study's own time), once there are enough for an interval. `first_block` numbers the first block's workload."""
    finals = Finals({candidate.label: [] for candidate in candidates}, [(candidate, []) for candidate in further])
    for candidate in (*candidates, *further):
        # Broken in an earlier session: out for good, or every resume would run the others' blocks anew.
        if (reason := steps.broken(candidate, requests)) is not None:
            finals.broken[candidate.label] = reason
    began_s = steps.file.spent_s
    try:
        for block in range(blocks):
            in_it = [*candidates, *(further if block < ABLATION_BLOCKS else ())]
            in_it = [candidate for candidate in in_it if candidate.label not in finals.broken]
            number = first_block + block
            stored = all(steps.has_block(candidate, requests, number) for candidate in in_it)
            if not stored and _over(steps, block, began_s, until_s):
                steps.bench.talk.line(f"  the budget ends the finals after {block} of {blocks} blocks")
                break
            _run_block(steps, finals, in_it, requests, number, again=not stored)
    except KeyboardInterrupt:
        finals.interrupted = True
    return finals


def _run_block(
    steps: Steps, finals: Finals, candidates: Sequence[Candidate], requests: int, block: int, *, again: bool
) -> None:
    """One block of everybody, every second one in reverse."""
    named = {candidate.label: candidate for candidate in candidates}
    kept = {**finals.by_label, **{candidate.label: blocks for candidate, blocks in finals.further}}
    for label in abba(2, list(named))[len(named) * (block % 2) :][: len(named)]:
        steps.bench.talk.progress(f"finals: block {block + 1}, {label}")
        try:
            kept[label].append(steps.block(named[label], requests, block, again=again))
        except (EngineError, ModelError, UsageError) as error:
            finals.broken[label] = steps.break_off(named[label], requests, str(error).splitlines()[0])
            steps.bench.talk.line(f"  {label} is out: {finals.broken[label]}")


def _over(steps: Steps, block: int, began_s: float, until_s: float | None) -> bool:
    """Whether one more block, as long as those so far, would end behind the budget."""
    if until_s is None or block < FEWEST_OF_A_BUDGET:
        return False
    spent_s = steps.file.spent_s
    return spent_s + (spent_s - began_s) / block > until_s


def first_blocks(side: Side, count: int) -> Side:
    """The side as if it had these blocks only, for pairing with one that has no more. Its summary stays the whole's."""
    values = {name: each[:count] for name, each in side.values.items()}
    return replace(side, blocks=side.blocks[:count], values=values)


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
    """One Effect a judged metric, of two sides alone."""
    return effects_against({"reference": baseline, "other": other}, "reference", margin)["other"]


def effects_against(
    sides: Mapping[str, Side], reference: str, margin: float, *, baseline: str | None = None
) -> dict[str, list[Effect]]:
    """Label → one Effect a judged metric, of every side against the reference; several by Holm (decision rule 5). The
    side called `baseline` is never judged, as nobody chooses it for its speed.

    A fatal doubt of either of the two sides forbids a verdict, and so does a share of failures that leaves only the
    survivors to compare: a failed request brings no tokens, so whoever fails looks slow.
    """
    if reference not in sides:
        return {}
    against = sides[reference]
    others = {label: side for label, side in sides.items() if label not in (reference, baseline)}
    found: dict[str, list[Effect]] = {label: [] for label in others}
    doubts = {
        label: (*doubts_of_side(against), *doubts_of_side(side), *_unequal(against, side))
        for label, side in others.items()
    }
    for name, lower in (*JUDGED, (GOODPUT, False)):
        judged = {label: side.values[name] for label, side in others.items() if name in side.values}
        if name not in against.values:
            continue
        each = judge_all(name, against.values[name], judged, lower_is_better=lower, margin=margin)
        for label, effect in each.items():
            found[label].append(_believed(replace(effect, doubts=doubts[label]), against, others[label]))
    return found


def _believed(effect: Effect, against: Side, other: Side) -> Effect:
    """The effect, or why nobody should believe it."""
    fatal = next((doubt for doubt in effect.doubts if doubt.fatal), None)
    if fatal is not None:
        return replace(effect, verdict="invalid", reason=f"{fatal.kind.why}: {fatal.seen}", blocks_to_settle=None)
    failing = next((side for side in (against, other) if side.failed_share > MOST_FAILED_SHARE), None)
    if failing is not None:
        why = f"{failing.failed_share:.0%} of the requests to {failing.candidate.label} failed"
        return replace(effect, verdict="invalid", reason=why, blocks_to_settle=None)
    return effect


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


def _has_upper_end(side: Side, name: str) -> bool:
    ends = side.summary["metrics"][name]["ci95"].get("p95")
    return ends is not None and ends[1] is not None


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
    elif open_ended := [name for name in P95 if not _has_upper_end(side, name)]:
        # Turns of one session go together, so they count for less than their number.
        lacking = f"the p95 of {' and '.join(open_ended)} has no upper end at n={n}"
        found.append(Doubt("too_few_requests", f"{side.candidate.label}: {lacking}"))
    rates = [value for value in side.values[RATE] if value]
    drifted = drift(rates) if len(rates) == len(side.blocks) else None
    if drifted is not None:
        found.append(Doubt(drifted.name, f"{side.candidate.label}: {drifted.seen}"))
    return tuple(found)
