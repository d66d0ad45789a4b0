"""The answer of a verification, with its evidence. It fails closed: `unknown` or `inconclusive`, never "better"."""

from dataclasses import dataclass, field
from typing import Any

from paretoken.core.doubt import Doubt

EFFECTS = ("better", "worse", "same", "unknown", "invalid")
BEHAVIOURS = ("equivalent", "changed_small", "changed", "inconclusive", "fail")


@dataclass(frozen=True, slots=True)
class Effect:
    """Did it help (decision rule 4). `ratio` is candidate/baseline of `metric`, `ci95` over paired blocks."""

    metric: str
    verdict: str  # one of EFFECTS
    ratio: float | None
    ci95: tuple[float, float] | None
    blocks: int
    margin: float
    blocks_to_settle: int | None = None  # how many more blocks would settle an `unknown`
    reason: str | None = None
    doubts: tuple[Doubt, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "verdict": self.verdict,
            "ratio": {"value": self.ratio, "ci95": None if self.ci95 is None else list(self.ci95)},
            "blocks": self.blocks,
            "margin": self.margin,
            "blocks_to_settle": self.blocks_to_settle,
            "reason": self.reason,
            "doubts": [d.as_json() for d in self.doubts],
        }
