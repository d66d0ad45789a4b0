"""What a search knows so far: each part of it adds, the document and the choice read."""

from dataclasses import dataclass, field
from typing import Any

from paretoken.core.candidate import Candidate
from paretoken.core.trial import Trial
from paretoken.core.verdict import Effect
from paretoken.machine.limits import Limits
from paretoken.search.base import Told
from paretoken.search.space import Point
from paretoken.study.ablation import Ablation
from paretoken.study.finals import Side, effects_against
from paretoken.study.plan import Plan
from paretoken.study.space import Space


@dataclass
class State:
    """What is known so far; Ctrl-C reports from it."""

    space: Space
    plan: Plan
    limits: Limits | None
    told: list[Told] = field(default_factory=list)  # what the search was told, in order
    screens: dict[Point, dict[str, Any]] = field(default_factory=dict)  # model-level options → behaviour, few positions
    verified: dict[Point, dict[str, Any]] = field(default_factory=dict)  # the same at many positions
    trials: list[Trial] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[dict[str, str]] = field(default_factory=list)  # models that were not worth a look, and why
    refused_levels: list[Point | None] = field(default_factory=list)
    finalist: Candidate | None = None
    finalist_point: Point | None = None
    ablations: tuple[Ablation, ...] = ()
    behaviour: dict[str, Any] | None = None  # of the finalist; None: it has the weights as given
    intact: dict[str, dict[str, Any]] = field(default_factory=dict)  # label → its service settings' verdict
    sides: dict[str, Side] = field(default_factory=dict)
    further: dict[str, Side] = field(default_factory=dict)  # in some of the finals' blocks: for each technique apart
    interrupted: bool = False

    def against(self, point: Point, margin: float) -> dict[str, list[Effect]]:
        """The effects of everybody's finals against this point's (study/finals.py)."""
        space = self.space
        return effects_against(self.sides, space.label(point), margin, baseline=space.label(space.baseline))
