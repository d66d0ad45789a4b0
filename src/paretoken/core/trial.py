"""The runs that judge one candidate, as a state and numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from paretoken.core.candidate import Candidate
from paretoken.core.doubt import Doubt

# A failed trial is a state. It neither raises nor vanishes, and it can never be the best.
STATES = ("complete", "infeasible", "crashed", "timeout", "refused", "interrupted")


@dataclass(frozen=True, slots=True)
class Trial:
    id: str
    phase: str  # screening | finals
    candidate: Candidate
    state: str
    reason: str | None = None  # one sentence when not complete; for `refused`, what was found
    key: str = ""  # decision rule 10
    run_ids: tuple[str, ...] = ()
    metrics: Mapping[str, Any] = field(default_factory=dict)  # metrics/summary.py's JSON
    behaviour: Mapping[str, Any] | None = None  # verification/behaviour.py's JSON
    doubts: tuple[Doubt, ...] = ()
    point: Mapping[str, Any] | None = None  # of the search's space: axis → option
    effort: float | None = None  # the share of a full run's requests
    merit: float | None = None  # what the search is told: more is better (study/merit.py)
    seconds: float = 0.0  # what the run took, its engine's start included
    memory_bytes: int | None = None  # of the engine's processes

    @property
    def complete(self) -> bool:
        return self.state == "complete"

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "phase": self.phase,
            "candidate": self.candidate.as_json(),
            "state": self.state,
            "reason": self.reason,
            "key": self.key,
            "run_ids": list(self.run_ids),
            "metrics": dict(self.metrics),
            "behaviour": None if self.behaviour is None else dict(self.behaviour),
            "doubts": [d.as_json() for d in self.doubts],
            "point": None if self.point is None else dict(self.point),
            "effort": self.effort,
            "merit": self.merit,
            "seconds": self.seconds,
            "memory_bytes": self.memory_bytes,
        }
