"""Where the labels of a scatter chart go: beside their points, on no other point, label or edge. Pure geometry.

Greedy: labels in order of importance, each at the free place nearest to its point. Pixels, y downwards.
"""

from collections.abc import Sequence
from dataclasses import dataclass

_OUTSIDE = 40.0  # an edge cuts a label, which is worse than an overlap
_GAP_PX = 10.0


@dataclass(frozen=True, slots=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: "Box") -> float:
        """Shared area in px²."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, width) * max(0.0, height)

    def nearest(self, x: float, y: float) -> tuple[float, float]:
        """Its point that is nearest to (x, y)."""
        return min(max(x, self.left), self.right), min(max(y, self.top), self.bottom)

    def outside(self, width: float, height: float) -> float:
        """How far it reaches over the frame, in px."""
        return (
            max(0.0, -self.left) + max(0.0, -self.top) + max(0.0, self.right - width) + max(0.0, self.bottom - height)
        )


@dataclass(frozen=True, slots=True)
class Wanted:
    """A label of `width` × `height` for the point at (x, y), at least `gap` px from its middle."""

    x: float
    y: float
    width: float
    height: float
    gap: float = _GAP_PX


def box_around(x: float, y: float, half: float) -> Box:
    return Box(x - half, y - half, x + half, y + half)


def place(wanted: Sequence[Wanted], frame: tuple[float, float], taken: Sequence[Box]) -> list[Box]:
    """One box a label. `taken` are the boxes of points, whiskers and other text."""
    width, height = frame
    busy = list(taken)
    placed = []
    for label in wanted:
        choices = _around(label)
        best = min(
            range(len(choices)),
            key=lambda i: (
                sum(choices[i].overlap(box) for box in busy) + _OUTSIDE * choices[i].outside(width, height) + i * 2.0
            ),
        )
        busy.append(choices[best])
        placed.append(choices[best])
    return placed


def _around(label: Wanted) -> list[Box]:
    """Places in order of preference: right, left, above or below, the corners, then the same further away."""
    found = []
    for gap in (label.gap, 2.2 * label.gap, 4 * label.gap):
        right, left = label.x + gap, label.x - gap - label.width
        middle, above, below = label.y - label.height / 2, label.y - gap - label.height, label.y + gap
        over = [(label.x - share * label.width, y) for share in (0.5, 0.2, 0.8) for y in (above, below)]
        corners = [(right, above), (right, below), (left, above), (left, below)]
        for x, y in [(right, middle), (left, middle), *over, *corners]:
            found.append(Box(x, y, x + label.width, y + label.height))
    return found
