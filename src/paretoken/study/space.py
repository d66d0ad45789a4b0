"""What a study may try: the techniques' options as the axes of a tree, and what a point of it means to an engine.

Enters the model as given, the engine's own defaults and the stated load; leaves a Space. What is worth trying is the
techniques' own word (techniques/); which axes depend on which, and what is known not to work before any launch, is said
here. Starts nothing; a model that has to be made is made when its candidate is asked for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from paretoken.core.candidate import MODEL_LEVEL, Candidate, Model
from paretoken.machine.quota import cpu_quota
from paretoken.models.dimensions import dimensions
from paretoken.models.gguf_header import read_header
from paretoken.search.space import Axis, Constraint, Option, Point, Tree
from paretoken.techniques import TECHNIQUES
from paretoken.techniques.base import Situation, Technique

DEFAULT = "default"  # the engine's own way, or the model as given
WEIGHTS, SLOTS, REPLICAS, THREADS, CHUNK = "quantize", "batching", "replicas", "threads", "prefill_chunk"
# In the order in which they are switched on: replicas share out the slots and threads that are set by then. Two
# techniques are left to the engine, which has both on: without the prompt cache nothing gains, and flash attention
# switched off moves rounding as far as the floor itself, which takes minutes to tell from a fault, for an effect within
# the noise (benchmarks/technique_pairs.py measures both).
AXES = (WEIGHTS, "kv_cache", SLOTS, THREADS, REPLICAS, CHUNK, "speculate", "samplers")


@dataclass(frozen=True)
class Space:
    """`settings` says what an option of an axis means to its technique."""

    model: Model
    engine: str
    base_settings: dict[str, Any]  # the engine's own defaults, named
    published: str  # the number type of the model as given
    streams: int
    tree: Tree
    settings: Mapping[tuple[str, Option], Mapping[str, Any]]
    hand: Point  # what an expert would set first; the baseline at one stream

    @property
    def baseline(self) -> Point:
        return self.tree.default

    def switched_on(self, point: Point) -> list[str]:
        """The techniques of a point, in the order of the axes."""
        return [name for name in AXES if point.get(name, DEFAULT) != DEFAULT]

    def words(self, axis: str, option: Option) -> str:
        return self._techniques[axis].words(self.settings[axis, option])

    def label(self, point: Point) -> str:
        """'Q8_0 · 8 slots'; the model as given says so. What else is the engine's own way is not named."""
        found = [f"{self.published} as given", "1 slot"]
        for place, axis in enumerate((WEIGHTS, SLOTS)):
            if point.get(axis, DEFAULT) != DEFAULT:
                found[place] = self.words(axis, point[axis])
        others = [axis for axis in self.switched_on(point) if axis not in (WEIGHTS, SLOTS)]
        return " · ".join([*found, *(self.words(axis, point[axis]) for axis in others)])

    def model_words(self, point: Point) -> str:
        """The model-level options of a point in words: 'Q8_0', 'Q8_0 · KV q8_0', 'KV q8_0'."""
        on = [axis for axis in self.switched_on(point) if self._techniques[axis].level == MODEL_LEVEL]
        return " · ".join(self.words(axis, point[axis]) for axis in on) or f"{self.published} as given"

    def without_service(self, point: Point) -> Point:
        """The same model level with the engine's own service settings."""
        return self.tree.completed(self.tree.model_level(point).as_json())

    def candidate(self, point: Point, cache: Path | None = None) -> Candidate:
        """The candidate of this point; a model that has to be made is made, once. Raises ModelError, UsageError."""
        found = Candidate("", self.engine, self.model, self.base_settings)
        for axis in self.switched_on(point):
            found = self._techniques[axis].apply(found, self.settings[axis, point[axis]], cache)
        return replace(found, label=self.label(point))

    def slots(self, point: Point) -> int:
        """Requests decoded together, over all replicas."""
        if point.get(SLOTS, DEFAULT) == DEFAULT:
            return 1
        return int(self.settings[SLOTS, point[SLOTS]]["slots"])

    @cached_property
    def _techniques(self) -> dict[str, Technique]:
        return {axis.name: TECHNIQUES.load(axis.name)() for axis in self.tree.axes}


def space_for(
    model: Model, *, engine: str, base_settings: dict[str, Any], streams: int, tokens_per_request: int
) -> Space:
    """All points for this model and load. Raises UsageError where a request does not fit the model's context."""
    header = read_header(Path(model.path))
    threads = base_settings.get("threads") or cpu_quota()
    situation = Situation(header, engine, streams, tokens_per_request, threads)
    axes: list[Axis] = []
    settings: dict[tuple[str, Option], Mapping[str, Any]] = {}
    for name in AXES:
        technique: Technique = TECHNIQUES.load(name)()
        options = {_option(o): o for o in technique.options(situation) if _worth_trying(name, o, streams)}
        settings |= {(name, option): meant for option, meant in options.items()}
        axes.append(Axis(name, (DEFAULT, *options), technique.level, _only_if(name, axes)))
    tree = Tree(tuple(axis for axis in axes if len(axis.options) > 1), _constraints(settings))
    slots = [option for axis, option in settings if axis == SLOTS]
    hand = tree.completed({SLOTS: slots[-1]}) if slots else tree.default
    return Space(model, engine, dict(base_settings), dimensions(header).file_type, streams, tree, settings, hand)


def _option(settings: Mapping[str, Any]) -> Option:
    """An option is named by the first of its settings: the others follow from it."""
    found: Option = next(iter(settings.values()))
    return found


def _worth_trying(name: str, settings: Mapping[str, Any], streams: int) -> bool:
    """Fewer slots than half the streams leave most of them waiting in a queue: the baseline, with the engine's one
    slot, shows that already and no other technique undoes it."""
    slots = int(settings.get("slots", 0))
    return name != SLOTS or (slots > 1 and 2 * slots >= streams)


def _only_if(name: str, axes: Sequence[Axis]) -> tuple[tuple[str, tuple[Option, ...]], ...]:
    if name != REPLICAS:
        return ()
    by_name = {axis.name: axis for axis in axes}
    return tuple(
        (axis, options)
        for axis, options in (
            (SLOTS, by_name[SLOTS].options[1:]),  # one slot can't be shared out
            (THREADS, (DEFAULT,)),  # replicas take all cores
        )
        if len(by_name[axis].options) > 1
    )


def _constraints(settings: Mapping[tuple[str, Option], Mapping[str, Any]]) -> tuple[Constraint, ...]:
    def every_replica_has_a_slot(point: Point) -> bool:
        if point.get(REPLICAS, DEFAULT) == DEFAULT:
            return True
        return bool(settings[REPLICAS, point[REPLICAS]]["replicas"] <= settings[SLOTS, point[SLOTS]]["slots"])

    return (Constraint("replicas", every_replica_has_a_slot, "every replica needs a slot"),)
