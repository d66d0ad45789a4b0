"""The wait itself: the textbooks' T ≈ t·n beside ttft + tpot·(n−1), both against what was measured.

Enter: records (or one record of a trace). Leave: both predictions with their residuals, and how long an answer may be
to be whole within a time that people take for immediate. Judges nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretoken.core.record import Record
from paretoken.metrics.latency import answered
from paretoken.units import ms, show_duration

# What people expect of an application: up to here an answer feels immediate.
IMMEDIATE_S = 0.1


@dataclass(frozen=True, slots=True)
class Wait:
    """One answer of n tokens (or the medians over many), in seconds; a residual is measured − predicted."""

    n: float
    ttft_s: float
    tpot_s: float
    e2e_s: float

    @property
    def textbook_s(self) -> float:
        """t·n, with t the time per token while tokens come."""
        return self.tpot_s * self.n

    @property
    def two_part_s(self) -> float:
        """ttft + tpot·(n−1): the wait for the first token, then the others."""
        return self.ttft_s + self.tpot_s * (self.n - 1)

    @property
    def textbook_residual_s(self) -> float:
        return self.e2e_s - self.textbook_s

    @property
    def two_part_residual_s(self) -> float:
        return self.e2e_s - self.two_part_s


def wait_of(record: Record) -> Wait | None:
    """None when the answer's tokens, pace or end are unknown."""
    n, ttft, tpot, e2e = record.reply.output_tokens, record.ttft_s, record.tpot_s, record.e2e_s
    if n is None or ttft is None or tpot is None or e2e is None:
        return None
    return Wait(n, ttft, tpot, e2e)


def tokens_within(budget_s: float, tpot_s: float) -> int:
    """The largest n with tpot·n ≤ budget: the first token, too, takes at least one step."""
    if tpot_s <= 0:
        raise ValueError(f"a time per token is above zero, not {tpot_s}")
    return math.floor(budget_s / tpot_s + 1e-9)


def budget_sentence(tpot_s: float, budget_s: float = IMMEDIATE_S) -> str:
    """'for 100 ms whole, n ≤ 4 at 22 ms a token'."""
    return (
        f"for {show_duration(budget_s)} whole, n ≤ {tokens_within(budget_s, tpot_s)} at {show_duration(tpot_s)} a token"
    )


def waits_json(records: Sequence[Record]) -> dict[str, Any]:
    """Medians over the answered requests: each request is predicted by its own ttft and tpot, then the median is taken
    (the median residual is not the difference of the medians)."""
    waits = [wait for record in answered(records) if (wait := wait_of(record)) is not None]
    if not waits:
        return {"n": 0, "reason": "no answer has a known token count, pace and end"}
    tpot = float(np.median([w.tpot_s for w in waits]))
    return {
        "n": len(waits),
        "e2e_ms": _median_ms([w.e2e_s for w in waits]),
        "textbook_ms": _median_ms([w.textbook_s for w in waits]),
        "textbook_residual_ms": _median_ms([w.textbook_residual_s for w in waits]),
        "two_part_ms": _median_ms([w.two_part_s for w in waits]),
        "two_part_residual_ms": _median_ms([w.two_part_residual_s for w in waits]),
        "budget": budget_sentence(tpot) if tpot > 0 else None,
        "tokens_within_100_ms": tokens_within(IMMEDIATE_S, tpot) if tpot > 0 else None,
    }


def _median_ms(values: list[float]) -> float | None:
    return ms(float(np.median(values)))
