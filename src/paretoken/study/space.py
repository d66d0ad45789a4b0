"""Which candidates a study looks at: the untouched baseline, the expert's hand setting, and number type × slots.

Pure: enters a model's file type and the stated load, leaves names and settings. Knows no engine process and no file.
"""

from dataclasses import dataclass

# Types whose blocks fit any width that 32 divides, from the most to the fewest bits.
NUMBER_TYPES = ("F16", "Q8_0", "Q4_1", "Q4_0")


@dataclass(frozen=True, slots=True)
class Point:
    """One candidate before its model exists: `number_type` None is the model as given; `slots` None is the engine's
    own default."""

    number_type: str | None
    slots: int | None

    def label(self, published: str, default_slots: int) -> str:
        """'Q8_0 · 8 slots'; the model as given says so."""
        weights = f"{published} as given" if self.number_type is None else self.number_type
        slots = default_slots if self.slots is None else self.slots
        return f"{weights} · {slots} slot{'s' if slots > 1 else ''}"


BASELINE = Point(number_type=None, slots=None)


def hand_setting(streams: int) -> Point:
    """What an expert would try first: a slot for every stream, a thread for every core, the weights as published."""
    return Point(number_type=None, slots=streams)


def number_types(published: str) -> list[str]:
    """The types worth making from a model published as `published`: all but the one it already has."""
    return [name for name in NUMBER_TYPES if name != published]


def slot_counts(streams: int) -> list[int]:
    """Slots worth trying at this many streams: all at once, half of them; one stream needs one slot."""
    return sorted({streams, max(1, streams // 2)}, reverse=True)


def points(published: str, streams: int) -> list[Point]:
    """All candidates, baseline and hand setting first, no two the same run."""
    found = [BASELINE]
    for number_type in (None, *number_types(published)):
        for slots in slot_counts(streams):
            point = Point(number_type, slots)
            is_baseline = number_type is None and slots == 1  # the engine's default is one slot
            if not is_baseline:
                found.append(point)
    return found
