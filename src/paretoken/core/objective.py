"""What to improve and what must hold."""

from dataclasses import dataclass
from typing import Any


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
class Objective:
    """Highest output rate (which is lowest cost) at the stated load, inside the behaviour margin."""

    load: Load
    output_tokens: int
    behaviour_margin_nat: float = 0.01
    effect_margin: float = 0.03

    def as_json(self) -> dict[str, Any]:
        return {
            "maximise": "output_tok_s",
            "load": self.load.as_json(),
            "output_tokens": self.output_tokens,
            "behaviour": {"metric": "kld", "margin_nat": self.behaviour_margin_nat},
            "effect_margin": self.effect_margin,
        }
