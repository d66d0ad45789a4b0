"""An SLO in words, and whether a summary's metrics keep it.

Enter: `p95 ttft < 2s, p95 tpot < 100ms` and metrics as metrics/summary.py writes them. Leave: limits, and for each
whether it is met, missed or not shown. Fails closed: a limit is met only when the upper end of the 95 % interval lies
inside it; a point below the limit with an interval across it is `unknown`.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paretoken.core.objective import Limit
from paretoken.errors import UsageError
from paretoken.metrics.goodput import Slo
from paretoken.units import MS_PER_S, parse_duration_s, show_duration

# The names in an SLO, and where the summary keeps them. `ttft` is what a user feels: counted from the due moment.
METRICS = {"ttft": "ttft_from_due_ms", "ttfa": "ttfa_ms", "tpot": "tpot_ms", "itl": "itl_ms", "e2e": "e2e_ms"}
STATS = ("p50", "p90", "p95", "p99", "mean")
_LIMIT = re.compile(r"\s*(?:(\w+)\s+)?(\w+)\s*<=?\s*([0-9.]+\s*[a-z]+)\s*", flags=re.IGNORECASE)
_FORM = 'write it like "p95 ttft < 2s, p95 tpot < 100ms"'


def parse_slo(text: str) -> tuple[Limit, ...]:
    """'p95 ttft < 2s, p95 tpot < 100ms' → limits; without a statistic p95 is meant. Raises UsageError."""
    limits = tuple(_parse_limit(part) for part in text.split(","))
    names = [(limit.stat, limit.metric) for limit in limits]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"the SLO '{text}' limits {' '.join(twice)} twice; keep one of them")
    return limits


def _parse_limit(part: str) -> Limit:
    match = _LIMIT.fullmatch(part)
    if match is None:
        raise UsageError(f"cannot read the limit '{part.strip()}' of the SLO; {_FORM}")
    stat, metric = (match[1] or "p95").lower(), match[2].lower()
    if stat not in STATS:
        raise UsageError(f"'{stat}' is no statistic of an SLO; it is one of {', '.join(STATS)}")
    if metric not in METRICS:
        raise UsageError(f"'{metric}' is no metric of an SLO; it is one of {', '.join(METRICS)}")
    return Limit(stat, metric, parse_duration_s(match[3].replace(" ", "").lower()))


def limit_words(limit: Limit) -> str:
    return f"{limit.stat} {limit.metric} < {show_duration(limit.limit_s)}"


def slo_words(limits: Sequence[Limit]) -> str:
    return ", ".join(limit_words(limit) for limit in limits)


def per_request(limits: Sequence[Limit]) -> Slo | None:
    """The limits as goodput takes them, for each request by itself; of two limits of one metric the looser, since the
    tighter one is meant for a lower percentile. None without limits, and with one on itl, of which a request has
    many."""
    if not limits or any(limit.metric == "itl" for limit in limits):
        return None
    found: dict[str, float] = {}
    for limit in limits:
        name = f"{limit.metric}_s"
        found[name] = max(limit.limit_s, found.get(name, 0.0))
    return Slo(**found)


@dataclass(frozen=True, slots=True)
class Held:
    """What became of one limit. `ci95` may lack an end where the sample is too small to have one."""

    limit: Limit
    value_ms: float | None
    ci95: tuple[float | None, float | None]
    verdict: str  # met | missed | unknown

    @property
    def overrun(self) -> float:
        """Value / limit: above 1 it is too much, by this factor; infinite where nothing was measured."""
        return math.inf if self.value_ms is None else self.value_ms / (self.limit.limit_s * MS_PER_S)

    def words(self) -> str:
        """'p95 ttft 3.1 s, limit 2 s'."""
        value = "unknown" if self.value_ms is None else show_duration(self.value_ms / MS_PER_S)
        return f"{self.limit.stat} {self.limit.metric} {value}, limit {show_duration(self.limit.limit_s)}"

    def sentence(self) -> str:
        """'SLO: p95 ttft 3.1 s, limit 2 s: missed'."""
        return f"SLO: {self.words()}: {'not settled' if self.verdict == 'unknown' else self.verdict}"

    def as_json(self) -> dict[str, Any]:
        ends = None if self.ci95 == (None, None) else list(self.ci95)
        return {**self.limit.as_json(), "value_ms": self.value_ms, "ci95": ends, "verdict": self.verdict}


def held(limits: Sequence[Limit], metrics: Mapping[str, Any]) -> tuple[Held, ...]:
    """Each limit against these metrics."""
    return tuple(_held(limit, metrics) for limit in limits)


def _held(limit: Limit, metrics: Mapping[str, Any]) -> Held:
    distribution = metrics.get(METRICS[limit.metric]) or {}
    value = distribution.get(limit.stat)
    low, high = (distribution.get("ci95") or {}).get(limit.stat) or (None, None)
    bound_ms = limit.limit_s * MS_PER_S
    if value is not None and high is not None and high <= bound_ms:
        verdict = "met"
    elif value is not None and low is not None and low > bound_ms:
        verdict = "missed"
    else:
        verdict = "unknown"
    return Held(limit, value, (low, high), verdict)


def overrun(limits: Sequence[Limit], metrics: Mapping[str, Any]) -> float:
    """By what factor the worst limit is exceeded at the point estimate (≤ 1: none is); 0 without limits.

    For choosing whom to look at again, so a short run's nearest lower percentile stands in for one that it is too short
    for."""
    return max((_nearest(limit, metrics) for limit in limits), default=0.0)


def _nearest(limit: Limit, metrics: Mapping[str, Any]) -> float:
    distribution = metrics.get(METRICS[limit.metric]) or {}
    stats = STATS[: STATS.index(limit.stat) + 1][::-1] if limit.stat != "mean" else ("mean",)
    value = next((found for stat in stats if (found := distribution.get(stat)) is not None), None)
    return math.inf if value is None or math.isnan(value) else value / (limit.limit_s * MS_PER_S)
