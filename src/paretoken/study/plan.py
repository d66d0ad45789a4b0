"""What a study will do and how long it takes, said before it starts.

Pure arithmetic over two measured numbers (one stream's wait per token and prefill) and the counts of decision rule 5.
The number of requests in the finals is never cut below what a two-sided p95 interval needs; what shrinks when time is
short is the number of behaviour positions, and that is said.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from paretoken.core.objective import Limit
from paretoken.metrics.quantiles import needed_for_upper_end
from paretoken.units import show_duration
from paretoken.verification.answers import ANSWER_TOKENS, PROMPTS

REQUESTS_A_SESSION = 5 / 4  # of the chat workload: turns of one session are not independent samples
FINAL_BLOCKS = 6
SCREEN_POSITIONS = 256
FINAL_POSITIONS = 2048
FEWEST_FINAL_POSITIONS = 512
SLOT_POSITIONS = 256  # enough to see that the very same numbers come out, as they do on llama.cpp
# What the arithmetic below rests on; measured on two cores, see docs/LOG.md.
PROMPT_TOKENS = 170  # a whole prompt of the chat workload, its shared system prompt included
OWN_TOKENS = 45  # what is not shared
MAKE_S = 3.0  # one model of 135 M parameters
LOAD_S = 1.5  # loading two models for a comparison
POSITION_FACTOR = 2.7  # a teacher-forced position with all its logits, against one prompt token of prefill
FLOOR_POSITIONS = 768
FLOOR_READS = 5
SLOT_STEP_FACTOR = 5  # one position decoded alone and among the other slots, against one token of one stream


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
    budget_s: float
    steps: tuple[Step, ...]
    blocks: int
    requests_per_block: int
    screen_requests: int
    screen_positions: int
    final_positions: int
    short: str | None = None  # what was cut to fit the budget, or by how much it does not fit

    @property
    def total_s(self) -> float:
        return sum(step.seconds for step in self.steps)

    def as_json(self) -> dict[str, Any]:
        return {
            "budget_s": self.budget_s,
            "steps": [{"name": step.name, "minutes": round(step.seconds / 60, 2)} for step in self.steps],
            "blocks": self.blocks,
            "requests_per_block": self.requests_per_block,
            "screen_requests": self.screen_requests,
            "screen_positions": self.screen_positions,
            "final_positions": self.final_positions,
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


def make_plan(
    *,
    budget_s: float,
    streams: int,
    output_tokens: int,
    new_models: int,
    candidates: int,
    pace: Pace,
    slo: Sequence[Limit] = (),
) -> Plan:
    """The plan for this budget. One stream's hand setting is the baseline, so its finals are two candidates and no
    slots need a look; else they are three, and the slots of two of them are looked at."""
    finalists, slot_checks = (3, 2) if streams > 1 else (2, 0)
    screen_requests = max(8, 2 * streams)
    per_block = block_requests(streams, slo)
    finals_s = finalists * FINAL_BLOCKS * run_seconds(per_block, streams, output_tokens, pace)
    fixed = [
        Step(f"make {new_models} models of other number types", MAKE_S * new_models),
        Step(
            f"screen the behaviour of {new_models} models on {SCREEN_POSITIONS} positions",
            new_models * (LOAD_S + 2 * SCREEN_POSITIONS * POSITION_FACTOR * pace.prefill_s),
        ),
        Step(
            f"screen the speed of {candidates} candidates, {screen_requests} requests each",
            candidates * run_seconds(screen_requests, streams, output_tokens, pace),
        ),
        Step(
            "look at a refused model's answers" + (" and at what the slots change" if slot_checks else ""),
            2 * (LOAD_S + len(PROMPTS) * ANSWER_TOKENS * pace.token_s)
            + slot_checks * SLOT_POSITIONS * SLOT_STEP_FACTOR * pace.token_s,
        ),
        Step(f"finals: {finalists} candidates, {FINAL_BLOCKS} interleaved blocks of {per_block} requests", finals_s),
    ]
    verify_s = (2 * FINAL_POSITIONS + FLOOR_READS * FLOOR_POSITIONS) * POSITION_FACTOR * pace.prefill_s + 2 * LOAD_S
    left_s = budget_s - sum(step.seconds for step in fixed)
    positions, short = FINAL_POSITIONS, None
    if left_s < verify_s:
        positions = max(FEWEST_FINAL_POSITIONS, int(FINAL_POSITIONS * max(left_s, 0.0) / verify_s) // 256 * 256)
        short = f"to fit {show_duration(budget_s)}: {positions} instead of {FINAL_POSITIONS} behaviour positions"
    verify = Step(f"verify the finalist on {positions} positions", verify_s * positions / FINAL_POSITIONS)
    steps = (*fixed[:3], verify, *fixed[3:])
    total_s = sum(step.seconds for step in steps)
    if total_s > budget_s:
        longer = f"it may still take {show_duration(total_s - budget_s)} longer"
        short = f"{short}; {longer}: the finals never have fewer than {final_requests(slo)} requests"
    return Plan(budget_s, steps, FINAL_BLOCKS, per_block, screen_requests, SCREEN_POSITIONS, positions, short)


def replanned(plan: Plan, *, since_start_s: float, since_plan_s: float) -> Plan:
    """The plan after screening. What took longer than planned makes it likely that the rest does too; the budget is
    kept at the cost of behaviour positions, the finals' requests stay."""
    *so_far, verify, looks, finals = plan.steps
    slower = max(1.0, since_plan_s / sum(step.seconds for step in so_far))
    left_s = plan.budget_s - since_start_s - slower * (looks.seconds + finals.seconds)
    fits = int(plan.final_positions * max(left_s, 0.0) / (slower * verify.seconds)) // 256 * 256
    positions = max(FEWEST_FINAL_POSITIONS, fits)
    if positions >= plan.final_positions:
        return plan
    short = (
        f"to fit {show_duration(plan.budget_s)}: {positions} instead of {plan.final_positions} behaviour positions, "
        f"since it took {slower:.2g} times as long as planned so far"
    )
    return replace(plan, final_positions=positions, short=short)
