"""Which candidates a study looks at: the untouched baseline, the expert's hand setting, and number type × slots.

Enters the model as given and the stated load; leaves candidates that may not be made yet. What is worth trying is the
techniques' own word (techniques/); what is left out here, and why, is said beside it. Starts nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paretoken.core.candidate import Candidate, Model
from paretoken.models.dimensions import dimensions
from paretoken.models.gguf_header import read_header
from paretoken.techniques.base import Situation
from paretoken.techniques.model.quantize import Quantize
from paretoken.techniques.service.batching import Batching


@dataclass(frozen=True, slots=True)
class Point:
    """One candidate by what is switched on. `number_type` None: the model as given; `batching` None: the engine's
    own default of one slot."""

    number_type: str | None = None
    batching: tuple[int, int] | None = None  # slots, context per slot

    @property
    def slots(self) -> int:
        return 1 if self.batching is None else self.batching[0]

    def label(self, published: str) -> str:
        """'Q8_0 · 8 slots'; the model as given says so."""
        weights = f"{published} as given" if self.number_type is None else self.number_type
        return f"{weights} · {self.slots} slot{'s' if self.slots > 1 else ''}"


BASELINE = Point()


@dataclass(frozen=True, slots=True)
class Space:
    """`points` has the baseline first and the hand setting second (where it is another); no two are the same run."""

    model: Model
    engine: str
    base_settings: dict[str, Any]  # the engine's own defaults, named
    published: str  # the number type of the model as given
    streams: int
    points: tuple[Point, ...]
    hand: Point

    def label(self, point: Point) -> str:
        return point.label(self.published)

    def number_types(self) -> list[str]:
        return list(dict.fromkeys(p.number_type for p in self.points if p.number_type is not None))

    def most_slots(self) -> list[Point]:
        """Each number type, and the model as given, at the most slots; without the baseline."""
        most = max((p.slots for p in self.points), default=1)
        return [p for p in self.points if p.slots == most and p != BASELINE]

    def fewer_slots(self, number_type: str | None) -> list[Point]:
        """The same number type at fewer slots, the baseline left out."""
        most = max(p.slots for p in self.points)
        return [p for p in self.points if p.number_type == number_type and p.slots < most and p != BASELINE]

    def candidate(self, point: Point, cache: Path | None = None) -> Candidate:
        """The candidate of this point; a model that has to be made is made, once. Raises ModelError, UsageError."""
        found = Candidate("", self.engine, self.model, self.base_settings)
        if point.number_type is not None:
            found = Quantize().apply(found, {"to": point.number_type}, cache)
        if point.batching is not None:
            slots, context = point.batching
            found = Batching().apply(found, {"slots": slots, "context_per_slot": context})
        return replace(found, label=self.label(point))


def space_for(
    model: Model, *, engine: str, base_settings: dict[str, Any], streams: int, tokens_per_request: int
) -> Space:
    """All points for this model and load. Raises UsageError where a request does not fit the model's context."""
    header = read_header(Path(model.path))
    situation = Situation(header, engine, streams, tokens_per_request)
    batchings = _worth_trying(
        [(int(o["slots"]), int(o["context_per_slot"])) for o in Batching().options(situation)], streams
    )
    types: list[str | None] = [None, *(str(o["to"]) for o in Quantize().options(situation))]
    hand = BASELINE if streams == 1 else Point(None, batchings[0])
    points = [BASELINE]
    if hand != BASELINE:
        points.append(hand)
    for number_type in types:
        for batching in batchings:
            point = Point(number_type, None if batching[0] == 1 else batching)
            if point not in points:
                points.append(point)
    published = dimensions(header).file_type
    return Space(model, engine, dict(base_settings), published, streams, tuple(points), hand)


def _worth_trying(batchings: Sequence[tuple[int, int]], streams: int) -> list[tuple[int, int]]:
    """Most slots first. Fewer slots than half the streams leave most of them waiting in a queue: the baseline, with
    the engine's one slot, shows that already and no other weights undo it."""
    return sorted((b for b in batchings if 2 * b[0] >= streams), reverse=True)
