"""One thing a report states: what it is about, and its clauses, the most important first."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """A narrow place shows the head and as many clauses as fit; the first is always shown.

    `spare` says how readily such a place goes without the whole fact: the largest goes first.
    """

    head: str
    clauses: tuple[str, ...]
    spare: int = 0

    @property
    def text(self) -> str:
        return "; ".join(self.clauses)
