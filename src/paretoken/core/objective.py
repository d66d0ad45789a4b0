"""What to improve and what must hold."""

from dataclasses import dataclass
from typing import Any

from paretoken.units import ms

# What an objective may improve: the metric that decides, and whether lower is better. On one machine the cheapest
# token is the one of the highest rate, so cost and throughput are decided by the same metric.
GOALS = {
    "cost": ("output_tok_s", False),
    "throughput": ("output_tok_s", False),
    "latency": ("e2e_p50_ms", True),
    "goodput": ("goodput_req_s", False),
}


@dataclass(frozen=True, slots=True)
class Load:
    """The stated load: a closed loop of `concurrency` streams, or Poisson arrivals at `rate_per_s`."""

    concurrency: int | None = None
    rate_per_s: float | None = None

    def __post_init__(self) -> None:
        if (self.concurrency is None) == (self.rate_per_s is None):
            raise ValueError("a load is either a concurrency or a rate")

    def as_json(self) -> dict[str, Any]:
        if self.concurrency is not None:
            return {"mode": "closed", "concurrency": self.concurrency}
        return {"mode": "poisson", "rate_per_s": self.rate_per_s}


@dataclass(frozen=True, slots=True)
class Limit:
    """One constraint of an SLO: this statistic of this metric may not exceed `limit_s`."""

    stat: str  # p50 | p90 | p95 | p99 | mean
    metric: str  # ttft (from the due moment) | ttfa | tpot | itl | e2e
    limit_s: float

    def as_json(self) -> dict[str, Any]:
        return {"stat": self.stat, "metric": self.metric, "limit_ms": ms(self.limit_s)}


@dataclass(frozen=True, slots=True)
class Objective:
    """What to improve at the stated load, inside the behaviour margin and every limit of the SLO."""

    load: Load
    output_tokens: int
    behaviour_margin_nat: float = 0.01
    effect_margin: float = 0.03
    goal: str = "cost"
    slo: tuple[Limit, ...] = ()
    name: str | None = None  # chat, voice, …: where the SLO came from

    @property
    def deciding_metric(self) -> str:
        return GOALS[self.goal][0]

    def as_json(self) -> dict[str, Any]:
        metric, lower = GOALS[self.goal]
        return {
            "name": self.name,
            "goal": self.goal,
            ("minimise" if lower else "maximise"): metric,
            "slo": [limit.as_json() for limit in self.slo],
            "load": self.load.as_json(),
            "output_tokens": self.output_tokens,
            "behaviour": {"metric": "kld", "margin_nat": self.behaviour_margin_nat},
            "effect_margin": self.effect_margin,
        }
