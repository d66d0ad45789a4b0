"""What a study will do and how long it takes, said before it starts.

Pure arithmetic over two measured numbers (one stream's wait per token and prefill) and the counts of decision rule 5.
The number of requests in the finals is never cut below what a two-sided p95 interval needs. What is left of the budget
beside the finals goes, in this order, to the search, to behaviour positions, and to measuring each technique apart.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from paretoken.core.objective import Limit
from paretoken.errors import UsageError
from paretoken.metrics.quantiles import needed_for_upper_end
from paretoken.study.budget import Budget
from paretoken.units import show_duration

REQUESTS_A_SESSION = 5 / 4  # of the chat workload: turns of one session are not independent samples
FINAL_BLOCKS = 6
ABLATION_BLOCKS = 4  # of the finals' blocks: enough for an interval of a rate, and p95 is not asked there
SCREEN_POSITIONS = 256
FINAL_POSITIONS = 2048
FEWEST_FINAL_POSITIONS = 512
SLOT_POSITIONS = 256  # enough to see that the very same numbers come out, as they do on llama.cpp
FEWEST_TRIALS, ENOUGH_TRIALS = 4, 12  # half runs of the search
MOST_ABLATIONS = 6
# What the arithmetic below rests on; measured on two cores, see docs/LOG.md.
PROMPT_TOKENS = 170  # a whole prompt of the chat workload, its shared system prompt included
OWN_TOKENS = 45  # what is not shared
MODEL_S = 3.0  # making one model of 135 M parameters
LOAD_S = 1.5  # loading two models for a comparison
POSITION_FACTOR = 2.7  # a teacher-forced position with all its logits, against one prompt token of prefill
FLOOR_POSITIONS = 768
FLOOR_READS = 5
SLOT_STEP_FACTOR = 5  # one position decoded alone and among the other slots, against one token of one stream
TEXTS_TOKENS = 1200  # of both sides, where a change of the server is judged by its answers
ASKED_MODELS = 2  # refused ones that are asked for answers
ANSWERS_TOKENS = 300  # of both sides, for each refused model that is asked
ANSWERS_TOKEN_FACTOR = 2.6  # one of them, with all its logits, against one token of one stream
MODELS_A_TRIAL = 0.4  # models of another number type, made and looked at, for each run of the search


@dataclass(frozen=True, slots=True)
class Pace:
    """What one request costs here, from the first look at the untouched model and the quota's core count."""

    token_s: float  # TPOT of one stream
    prefill_s: float  # TTFT of one cold request, a prompt token
    start_s: float  # engine start to ready


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """`search_s`: what the search may take, None where trials are counted instead. `ablations`: how many further
    candidates the finals may hold to show what each technique brings."""

    budget: Budget
    steps: tuple[Step, ...]
    blocks: int
    requests_per_block: int
    screen_requests: int  # of a full run
    screen_positions: int
    final_positions: int
    search_s: float | None
    ablations: int
    run_s: float  # expected of one full run of the search
    fixed_s: float  # of it start and warm-up, which a shorter run has as well
    block_s: float  # of one block of the finals
    position_s: float  # of one behaviour position of the finalist
    short: str | None = None  # what was cut to fit the budget, or by how much it does not fit

    @property
    def total_s(self) -> float:
        return sum(step.seconds for step in self.steps)

    def expected_run_s(self, effort: float) -> float:
        return self.fixed_s + effort * (self.run_s - self.fixed_s)

    def as_json(self) -> dict[str, Any]:
        return {
            **self.budget.as_json(),
            "steps": [{"name": step.name, "minutes": round(step.seconds / 60, 2)} for step in self.steps],
            "blocks": self.blocks,
            "requests_per_block": self.requests_per_block,
            "screen_requests": self.screen_requests,
            "screen_positions": self.screen_positions,
            "final_positions": self.final_positions,
            "search_s": self.search_s,
            "ablations": self.ablations,
            "short": self.short,
        }


def final_requests(slo: Sequence[Limit] = ()) -> int:
    """Requests that the finals need a side, so that the upper end of a p95 interval exists (72 independent samples, see
    docs/definitions.md; they are 90 requests), and of a p99 where the SLO has one."""
    quantiles = [0.95] + [int(limit.stat[1:]) / 100 for limit in slo if limit.stat != "mean"]
    return max(math.ceil(REQUESTS_A_SESSION * needed_for_upper_end(q)) for q in quantiles)


def block_requests(streams: int, slo: Sequence[Limit] = ()) -> int:
    """Requests in one block: whole waves of all streams, at least two, and enough for the SLO's percentiles (p95
    without one) over all blocks."""
    needed = -(-final_requests(slo) // FINAL_BLOCKS)
    waves = max(2, -(-needed // streams))
    return waves * streams


def run_seconds(requests: int, streams: int, output_tokens: int, pace: Pace) -> float:
    """One run: start, warm-up (one short request a stream), then the requests at one stream's token rate.

    Batching makes it faster; that it may not is the honest assumption before anything was measured. After the warm-up
    the shared system prompt lies in the cache, so a request reads its own words only.
    """
    warm_up = streams * PROMPT_TOKENS * pace.prefill_s
    return pace.start_s + warm_up + requests * (output_tokens * pace.token_s + OWN_TOKENS * pace.prefill_s)


@dataclass(frozen=True, slots=True)
class _Costs:
    """Seconds of each part, for one machine, model and load."""

    run_s: float  # a full run of the search
    fixed_s: float  # of it start and warm-up, which half a run has as well
    model_s: float  # a model made and looked at
    looks_s: float
    block_s: float
    load_s: float  # of the finalist's verification, whatever its positions
    position_s: float

    def search_s(self, trials: int) -> float:
        return trials * ((self.run_s + self.fixed_s) / 2 + MODELS_A_TRIAL * self.model_s)

    def verify_s(self, positions: int) -> float:
        return self.load_s + positions * self.position_s

    def finals_s(self, finalists: int) -> float:
        return finalists * FINAL_BLOCKS * self.block_s

    @property
    def ablation_s(self) -> float:
        return ABLATION_BLOCKS * self.block_s


def make_plan(
    *, budget: Budget, spent_s: float, streams: int, output_tokens: int, pace: Pace, slo: Sequence[Limit] = ()
) -> Plan:
    """The plan for this budget, of which `spent_s` are gone. Raises UsageError for one in which not even the least that
    a comparison needs would fit, naming what would; a budget that nobody gave grows to it instead."""
    finalists = 3 if streams > 1 else 2  # one stream's hand setting is the baseline
    full, per_block = max(8, 2 * streams), block_requests(streams, slo)
    cost = _costs(streams, output_tokens, pace, full=full, per_block=per_block)
    least_s = (
        spent_s
        + cost.search_s(FEWEST_TRIALS)
        + cost.verify_s(FEWEST_FINAL_POSITIONS)
        + cost.looks_s
        + cost.finals_s(finalists)
    )
    if budget.seconds is not None and budget.seconds < least_s:
        if budget.given:
            raise UsageError(
                f"a budget of {show_duration(budget.seconds)} is too short: here a comparison takes at least "
                f"{show_duration(least_s)}; give --budget {math.ceil(least_s / 60)}m, fewer --output-tokens, or a "
                "number of trials, as in '12 trials'"
            )
        budget = replace(budget, seconds=least_s)
    search_s, positions, ablations = _shared_out(budget, least_s, cost)
    short = None
    if positions < FINAL_POSITIONS:
        short = f"to fit {budget.words}: {positions} instead of {FINAL_POSITIONS} behaviour positions"
    searched_s = cost.search_s(budget.trials or ENOUGH_TRIALS) if search_s is None else search_s
    steps = (
        Step("search: short runs of what looks best, each model made and its behaviour looked at first", searched_s),
        Step(f"verify the finalist's behaviour on {positions} positions", cost.verify_s(positions)),
        Step("look at a refused model's answers, and at what the service settings change", cost.looks_s),
        Step(
            f"finals: {finalists} candidates, {FINAL_BLOCKS} interleaved blocks of {per_block} requests",
            cost.finals_s(finalists),
        ),
        *(
            [Step(f"in the same blocks: up to {ablations} more, for each technique apart", ablations * cost.ablation_s)]
            if ablations
            else []
        ),
    )
    return Plan(
        budget,
        steps,
        FINAL_BLOCKS,
        per_block,
        full,
        SCREEN_POSITIONS,
        positions,
        search_s,
        ablations,
        cost.run_s,
        cost.fixed_s,
        cost.block_s,
        cost.position_s,
        short,
    )


def _costs(streams: int, output_tokens: int, pace: Pace, *, full: int, per_block: int) -> _Costs:
    position_s = POSITION_FACTOR * pace.prefill_s
    slots_s = 2 * SLOT_POSITIONS * SLOT_STEP_FACTOR * pace.token_s if streams > 1 else 0.0
    return _Costs(
        run_s=run_seconds(full, streams, output_tokens, pace),
        fixed_s=run_seconds(0, streams, output_tokens, pace),
        model_s=MODEL_S + LOAD_S + 2 * SCREEN_POSITIONS * position_s,
        looks_s=slots_s
        + 2 * pace.start_s
        + ASKED_MODELS * (LOAD_S + ANSWERS_TOKENS * ANSWERS_TOKEN_FACTOR * pace.token_s),
        block_s=run_seconds(per_block, streams, output_tokens, pace),
        load_s=2 * LOAD_S + FLOOR_READS * FLOOR_POSITIONS * position_s,
        position_s=2 * position_s,
    )


def _shared_out(budget: Budget, least_s: float, cost: _Costs) -> tuple[float | None, int, int]:
    """(seconds of the search, behaviour positions, ablations): what is left beside the least of everything."""
    if budget.seconds is None:
        return None, FINAL_POSITIONS, MOST_ABLATIONS
    left_s = budget.seconds - least_s
    search_s = min(left_s, cost.search_s(ENOUGH_TRIALS) - cost.search_s(FEWEST_TRIALS))
    left_s -= search_s
    more = min(FINAL_POSITIONS - FEWEST_FINAL_POSITIONS, int(left_s / cost.position_s)) // 256 * 256
    left_s -= more * cost.position_s
    ablations = min(MOST_ABLATIONS, int(left_s / cost.ablation_s))
    left_s -= ablations * cost.ablation_s
    return cost.search_s(FEWEST_TRIALS) + search_s + left_s, FEWEST_FINAL_POSITIONS + more, ablations


def replanned(plan: Plan, *, spent_s: float, slower: float, finalists: int) -> Plan:
    """The plan after the search: behaviour positions and ablations that still fit, where everything takes `slower`
    times as long as was thought. The finals' requests stay."""
    if plan.budget.seconds is None:
        return plan
    finals_s = finalists * plan.blocks * plan.block_s
    reading_s = plan.steps[1].seconds - plan.final_positions * plan.position_s  # loading, and the floors' own reads
    left_s = plan.budget.seconds - spent_s - slower * (finals_s + reading_s)
    fits = int(max(left_s, 0.0) / (slower * plan.position_s)) // 256 * 256
    positions = min(FINAL_POSITIONS, max(FEWEST_FINAL_POSITIONS, fits))
    left_s -= slower * positions * plan.position_s
    ablations = min(MOST_ABLATIONS, int(max(left_s, 0.0) / (slower * ABLATION_BLOCKS * plan.block_s)))
    short = None
    if positions < FINAL_POSITIONS:
        why = f", since it takes {slower:.2g} times as long as planned" if slower > 1.1 else ""
        short = f"to fit {plan.budget.words}: {positions} instead of {FINAL_POSITIONS} behaviour positions{why}"
    return replace(plan, final_positions=positions, ablations=ablations, short=short)
