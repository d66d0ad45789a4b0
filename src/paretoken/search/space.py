"""What may be tried: axes with their options, as a tree, and the constraints that are known before anything starts.

Axes and constraints enter; the allowed points leave, the default first and always in the same order. An axis may exist
only where earlier axes have certain options (a draft length only where something drafts): elsewhere a point lacks it.
What a point means to an engine is not known here.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from paretoken.core.candidate import MODEL_LEVEL, SERVICE_LEVEL
from paretoken.errors import UsageError

Option = str | int | bool


@dataclass(frozen=True, slots=True)
class Point:
    """One option per axis that exists there. Equal whatever the order the axes were given in."""

    pairs: tuple[tuple[str, Option], ...]

    @classmethod
    def of(cls, options: Mapping[str, Option]) -> "Point":
        return cls(tuple(sorted(options.items())))

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Point":
        """What `as_json` wrote. Raises UsageError where an option is no text, whole number, true or false."""
        for axis, option in document.items():
            if not isinstance(option, (str, int)):
                raise UsageError(f"the option {option!r} of '{axis}' is not a text, a whole number, true or false")
        return cls.of(document)

    def __getitem__(self, axis: str) -> Option:
        return dict(self.pairs)[axis]

    def __contains__(self, axis: object) -> bool:
        return any(name == axis for name, _ in self.pairs)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def get(self, axis: str, default: Option | None = None) -> Option | None:
        """The option of this axis; `default` where the axis does not exist."""
        return dict(self.pairs).get(axis, default)

    def changed(self, axis: str, option: Option) -> "Point":
        """The same with one option set; whether the tree allows that is the tree's word."""
        return Point.of({**dict(self.pairs), axis: option})

    def differs(self, other: "Point") -> tuple[str, ...]:
        """The axes, sorted, that have another option there or exist in one of the two only."""
        mine, its = dict(self.pairs), dict(other.pairs)
        return tuple(sorted(name for name in mine.keys() | its.keys() if mine.get(name) != its.get(name)))

    def as_json(self) -> dict[str, Option]:
        return dict(self.pairs)

    @property
    def key(self) -> str:
        """Canonical text: equal points, equal key."""
        return json.dumps(self.as_json(), sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Axis:
    """One thing that can be chosen. The first option is the default: the engine's own, or the model as given."""

    name: str
    options: tuple[Option, ...]
    level: str  # MODEL_LEVEL or SERVICE_LEVEL
    only_if: tuple[tuple[str, tuple[Option, ...]], ...] = ()  # exists where each earlier axis has one of these

    @property
    def default(self) -> Option:
        return self.options[0]

    def exists(self, chosen: Mapping[str, Option]) -> bool:
        return all(name in chosen and chosen[name] in options for name, options in self.only_if)


@dataclass(frozen=True, slots=True)
class Constraint:
    """What is known not to work before it is launched, with the reason."""

    name: str
    allows: Callable[[Point], bool]
    why: str


@dataclass(frozen=True)
class Tree:
    """All points that may be asked. Raises UsageError where axes contradict themselves or the default is forbidden."""

    axes: tuple[Axis, ...]
    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        known: dict[str, Axis] = {}
        for axis in self.axes:
            _check(axis, known)
            known[axis.name] = axis
        forbidden = self.why_not(self.default)
        if forbidden is not None:
            raise UsageError(f"the default point is not allowed: {forbidden}")

    def points(self) -> tuple[Point, ...]:
        """The allowed points in the axes' order, the default first."""
        return self._points

    @cached_property
    def default(self) -> Point:
        return self.completed({})

    def why_not(self, point: Point) -> str | None:
        """Why this point may not be asked; None where it may."""
        chosen: dict[str, Option] = {}
        for axis in self.axes:
            if not axis.exists(chosen):
                if axis.name in point:
                    return f"'{axis.name}' does not exist there"
                continue
            if axis.name not in point:
                return f"it has no '{axis.name}'"
            option = point[axis.name]
            if option not in axis.options:
                return f"'{axis.name}' has no option {option!r}"
            chosen[axis.name] = option
        unknown = [name for name in point if name not in chosen]
        if unknown:
            return f"there is no axis '{unknown[0]}'"
        return next((c.why for c in self.constraints if not c.allows(point)), None)

    def neighbours(self, point: Point) -> tuple[Point, ...]:
        """The allowed points one choice away. Axes that appear by that choice take their default."""
        found: dict[Point, None] = {}
        for axis in self.axes:
            if axis.name in point:
                for option in axis.options:
                    found[self.completed({**point.as_json(), axis.name: option})] = None
        return tuple(other for other in found if other != point and self.why_not(other) is None)

    def model_level(self, point: Point) -> Point:
        """What of a point may change which tokens come: equal model-level options, equal behaviour."""
        model = {axis.name for axis in self.axes if axis.level == MODEL_LEVEL}
        return Point(tuple((name, option) for name, option in point.pairs if name in model))

    @cached_property
    def _points(self) -> tuple[Point, ...]:
        chosen: list[dict[str, Option]] = [{}]
        for axis in self.axes:
            chosen = [longer for shorter in chosen for longer in _with(axis, shorter)]
        return tuple(point for point in map(Point.of, chosen) if all(c.allows(point) for c in self.constraints))

    def completed(self, wanted: Mapping[str, Option]) -> Point:
        """The point with these options and every other axis at its default; an axis that does not exist there is left
        out."""
        chosen: dict[str, Option] = {}
        for axis in self.axes:
            if axis.exists(chosen):
                chosen[axis.name] = wanted.get(axis.name, axis.default)
        return Point.of(chosen)


def _with(axis: Axis, chosen: dict[str, Option]) -> Iterable[dict[str, Option]]:
    return [{**chosen, axis.name: option} for option in axis.options] if axis.exists(chosen) else [chosen]


def _check(axis: Axis, earlier: Mapping[str, Axis]) -> None:
    if axis.name in earlier:
        raise UsageError(f"there are two axes '{axis.name}'")
    if axis.level not in (MODEL_LEVEL, SERVICE_LEVEL):
        raise UsageError(f"the level of the axis '{axis.name}' is '{axis.level}', not {MODEL_LEVEL} or {SERVICE_LEVEL}")
    if not axis.options or len(set(axis.options)) < len(axis.options):  # 1 and True are the same to Python
        raise UsageError(f"the axis '{axis.name}' needs options, each of them once")
    for name, options in axis.only_if:
        if name not in earlier:
            raise UsageError(f"the axis '{axis.name}' depends on '{name}', which is not an earlier axis")
        if not set(options) <= set(earlier[name].options):
            raise UsageError(f"the axis '{axis.name}' depends on options that '{name}' does not have")
