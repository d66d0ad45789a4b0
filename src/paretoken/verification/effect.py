"""Did it help: decision rule 4 as a pure function of paired block values.

Enter: one value of a metric for each block of the baseline and of the candidate, measured interleaved. Leaves: a
verdict with its evidence. It fails closed: what can't be settled is `unknown`, what a doubt forbids is `invalid`. Knows
nothing of records, engines or clocks.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from paretoken.core.doubt import Doubt
from paretoken.core.verdict import Effect
from paretoken.metrics.quantiles import Floats
from paretoken.metrics.student import t_quantile, two_sided_p
from paretoken.units import show_percent

ALPHA = 0.05
BOOTSTRAP_FROM = 20  # blocks; below, Student's t
RESAMPLES = 4000
MOST_BLOCKS = 1000  # nobody runs more to settle one question


def abba(blocks: int, labels: Sequence[str]) -> list[str]:
    """The order of the runs: each block has every label once, every second block in reverse, so that a steady drift
    cancels: ABC CBA ABC …"""
    return [label for block in range(blocks) for label in (labels if block % 2 == 0 else reversed(labels))]


@dataclass(frozen=True, slots=True)
class _Paired:
    """The log ratios candidate/baseline of the blocks, and what their interval rests on. `pivots` are the bootstrapped
    |t| of resamples against this sample, ascending (empty: Student's t)."""

    n: int
    mean: float
    error: float  # standard error of the mean
    pivots: Floats

    @classmethod
    def of(cls, baseline: Floats, candidate: Floats, seed: int) -> "_Paired":
        logs = np.log(candidate) - np.log(baseline)
        n, mean = len(logs), float(logs.mean())
        error = float(logs.std(ddof=1)) / math.sqrt(n)
        # Equal ratios differ in the last bits; such an error is zero.
        if error < 1e-12:
            error = 0.0
        pivots = np.empty(0)
        if n >= BOOTSTRAP_FROM and error > 0:
            picks = logs[np.random.default_rng(seed).integers(0, n, size=(RESAMPLES, n))]
            errors = picks.std(axis=1, ddof=1) / math.sqrt(n)
            pivots = np.sort(np.abs(picks.mean(axis=1) - mean)[errors > 0] / errors[errors > 0])
        return cls(n, mean, error, pivots)

    def interval(self, alpha: float) -> tuple[float, float]:
        """Of the ratio. The bootstrap is of |t|: plain percentiles would be too narrow at 20 blocks (7 % instead of 5 %
        false verdicts)."""
        if len(self.pivots):
            half = float(np.quantile(self.pivots, 1 - alpha)) * self.error
        else:
            half = t_quantile(1 - alpha, self.n - 1) * self.error
        return math.exp(self.mean - half), math.exp(self.mean + half)

    @property
    def p(self) -> float:
        """Two-sided p of no effect."""
        if self.error == 0:
            return 1.0 if self.mean == 0 else 0.0
        t = abs(self.mean / self.error)
        if len(self.pivots):
            return float((self.pivots >= t).mean())
        return two_sided_p(t, self.n - 1)

    def blocks_to_settle(self, margin: float, alpha: float) -> int | None:
        """How many more blocks until the interval lies inside the margin or excludes 1, if mean and scatter stay."""
        spread = self.error * math.sqrt(self.n)
        inside = min(math.log1p(margin) - self.mean, self.mean - math.log1p(-margin))
        enough = max(abs(self.mean), inside)

        def settled(n: int) -> bool:
            return t_quantile(1 - alpha, n - 1) * spread / math.sqrt(n) < enough

        # The half width only falls with n, so the first n that settles is found by bisection.
        n = bisect_left(range(MOST_BLOCKS + 1), True, lo=self.n + 1, key=settled)
        return n - self.n if n <= MOST_BLOCKS else None


def _inside(low: float, high: float, margin: float) -> bool:
    return 1 - margin <= low and high <= 1 + margin


def point_estimate(baseline: Floats, candidate: Floats, lower_is_better: bool) -> float:
    """Ratio of medians for latencies (lower is better), ratio of the means over blocks for throughputs."""
    middle = np.median if lower_is_better else np.mean
    return float(middle(candidate) / middle(baseline))


def judge(
    metric: str,
    baseline_blocks: Sequence[float | None],
    candidate_blocks: Sequence[float | None],
    *,
    lower_is_better: bool,
    margin: float = 0.03,
    doubts: Sequence[Doubt] = (),
    seed: int = 0,
) -> Effect:
    """The effect of one candidate. Block i of both sides must be neighbours in time.

    `same`: the 95 % interval lies inside ±margin, and it wins; `better`/`worse`: it excludes 1; else `unknown`, with
    the number of blocks that would settle it.
    """
    return judge_all(
        metric,
        baseline_blocks,
        {"": candidate_blocks},
        lower_is_better=lower_is_better,
        margin=margin,
        doubts=doubts,
        seed=seed,
    )[""]


def judge_all(
    metric: str,
    baseline_blocks: Sequence[float | None],
    candidates: Mapping[str, Sequence[float | None]],
    *,
    lower_is_better: bool,
    margin: float = 0.03,
    doubts: Sequence[Doubt] = (),
    seed: int = 0,
) -> dict[str, Effect]:
    """Several candidates against one baseline, by Holm: the k-th most significant of m is judged at 5 %/(m−k+1), and
    once one is not significant no later one is. `ci95` stays the plain 95 % interval; `reason` says the level."""
    effects: dict[str, Effect] = {}
    paired: dict[str, _Paired] = {}
    for label, blocks in candidates.items():
        effect = Effect(metric, "unknown", None, None, len(baseline_blocks), margin, doubts=tuple(doubts))
        why_not = _not_comparable(baseline_blocks, blocks)
        if why_not is not None:
            effects[label] = replace(effect, verdict=_verdict_without_numbers(doubts), reason=why_not)
            continue
        before, after = np.array(baseline_blocks, dtype=np.float64), np.array(blocks, dtype=np.float64)
        paired[label] = _Paired.of(before, after, seed)
        ratio = point_estimate(before, after, lower_is_better)
        effects[label] = replace(effect, ratio=ratio, ci95=paired[label].interval(ALPHA))
    stopped = False
    for rank, label in enumerate(sorted(paired, key=lambda name: paired[name].p)):
        alpha = ALPHA / (len(candidates) - rank)
        effects[label] = _decided(effects[label], paired[label], alpha, lower_is_better, stopped)
        stopped = stopped or paired[label].p > alpha
    return {label: effects[label] for label in candidates}


def _not_comparable(baseline: Sequence[float | None], candidate: Sequence[float | None]) -> str | None:
    if len(baseline) != len(candidate):
        raise ValueError(f"blocks come in pairs, not {len(baseline)} and {len(candidate)}")
    if len(baseline) < 2:
        return f"{len(baseline)} block{'' if len(baseline) == 1 else 's'} cannot show how much blocks scatter"
    bad = sum(not (b and c and 0 < b < math.inf and 0 < c < math.inf) for b, c in zip(baseline, candidate, strict=True))
    return f"{bad} of {len(baseline)} blocks have no value on one side" if bad else None


def _verdict_without_numbers(doubts: Sequence[Doubt]) -> str:
    return "invalid" if any(doubt.fatal for doubt in doubts) else "unknown"


def _decided(effect: Effect, paired: _Paired, alpha: float, lower_is_better: bool, stopped: bool) -> Effect:
    fatal = next((doubt for doubt in effect.doubts if doubt.fatal), None)
    if fatal is not None:
        return replace(effect, verdict="invalid", reason=f"{fatal.kind.why}: {fatal.seen}")
    low, high = paired.interval(alpha)
    holm = "" if alpha == ALPHA else f" (Holm: judged at {show_percent(1 - alpha)})"
    if _inside(low, high, effect.margin):
        return replace(
            effect,
            verdict="same",
            reason=f"within noise: the interval lies inside ±{show_percent(effect.margin)}{holm}",
        )
    if (low > 1 or high < 1) and not stopped:
        verdict = "better" if (high < 1) == lower_is_better else "worse"
        return replace(effect, verdict=verdict, reason=f"the interval excludes no change{holm}")
    more = paired.blocks_to_settle(effect.margin, alpha)
    settle = f"{more} more blocks would settle it" if more else f"{MOST_BLOCKS} blocks would not settle it"
    why = "a more significant finalist was not significant" if stopped else "the interval includes no change"
    reason = f"within noise: {why} and is not inside ±{show_percent(effect.margin)}{holm}; {settle}"
    return replace(effect, verdict="unknown", blocks_to_settle=more, reason=reason)
