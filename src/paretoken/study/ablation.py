"""Which candidates show what each technique of a winner brings: it alone, and the winner without it.

Enters a space and the winner's point; leaves further points for the finals, those first that explain most. A point that
is in the finals anyway costs nothing; one that the space does not allow (replicas without slots) is named as such.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from paretoken.search.space import Option, Point
from paretoken.study.space import DEFAULT, Space


@dataclass(frozen=True, slots=True)
class Ablation:
    """One technique of the winner. A point that cannot be is None, with the reason."""

    axis: str
    alone: Point | None
    removed: Point | None
    why_not: str | None = None

    @property
    def points(self) -> list[Point]:
        return [point for point in (self.alone, self.removed) if point is not None]


def ablations_of(space: Space, winner: Point) -> tuple[Ablation, ...]:
    """One a technique of the winner; none for the baseline."""
    return tuple(_ablation(space, winner, axis) for axis in space.switched_on(winner))


def _ablation(space: Space, winner: Point, axis: str) -> Ablation:
    alone, why_alone = _allowed(space, {axis: winner[axis]})
    removed, why_removed = _allowed(space, {**winner.as_json(), axis: DEFAULT})
    return Ablation(axis, alone, removed, why_alone or why_removed)


def _allowed(space: Space, options: dict[str, Option]) -> tuple[Point | None, str | None]:
    """The point with these options, or why the space has none like it."""
    found = space.tree.completed(options)
    lost = [name for name, option in options.items() if option != DEFAULT and name not in found]
    if lost:
        return None, f"not without the rest: '{lost[0]}' needs what it stands on"
    why_not = space.tree.why_not(found)
    return (found, None) if why_not is None else (None, why_not)


def further_points(ablations: Iterable[Ablation], already: Iterable[Point], most: int) -> list[Point]:
    """The points that the finals need beside those that are in them already. A technique's removal is asked before it
    alone: what it brings inside the winner is what its owner pays for."""
    found: list[Point] = []
    known = set(already)
    ablations = list(ablations)
    for point in [a.removed for a in ablations] + [a.alone for a in ablations]:
        if point is not None and point not in known:
            known.add(point)
            found.append(point)
    return found[:most]
