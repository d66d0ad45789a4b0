"""What a technique is: a claim about what it may change, its settings worth trying, and how it is switched on.

A technique is a class without arguments, registered by name (techniques/__init__.py, or the entry-point group
`paretoken.technique`); tests/techniques/conformance.py says what holds for every one. A technique measures nothing
and judges nothing: `verification` does, by the level that is claimed here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from paretoken.core.candidate import MODEL_LEVEL, SERVICE_LEVEL, Applied, Candidate
from paretoken.models.gguf_header import Header

MAY_CHANGE = {MODEL_LEVEL: "which tokens come", SERVICE_LEVEL: "only when they come"}
PROOF = {
    MODEL_LEVEL: "a behaviour gate: how far from the baseline, with an interval, inside a stated margin",
    SERVICE_LEVEL: "an intactness test: no further from the baseline than rounding alone moves it",
}


@dataclass(frozen=True, slots=True)
class Situation:
    """What decides which settings are worth trying: the model, the engine and the stated load."""

    header: Header
    engine: str
    streams: int
    tokens_per_request: int  # prompt and answer of the longest request
    threads: int = 1  # that may run here at once: the CPU quota


class Technique(Protocol):
    name: str
    level: str  # MODEL_LEVEL or SERVICE_LEVEL; decides the proof
    needs: str
    risk: str
    engines: tuple[str, ...]

    def options(self, situation: Situation) -> list[dict[str, Any]]:
        """Settings worth trying, no two with the same effect; empty where the technique does not apply."""

    def words(self, settings: Mapping[str, Any]) -> str:
        """A few words for a label: '8 slots'."""

    def apply(self, candidate: Candidate, settings: Mapping[str, Any], cache: Path | None = None) -> Candidate:
        """The candidate with this technique switched on. A model that has to be made is made, once."""


def switched_on(
    candidate: Candidate, technique: Technique, settings: Mapping[str, Any], **engine_settings: Any
) -> Candidate:
    """The candidate with these engine settings, its label and its techniques saying so."""
    return replace(
        candidate,
        label=f"{candidate.label} · {technique.words(settings)}",
        engine_settings={**candidate.engine_settings, **engine_settings},
        techniques=(*candidate.techniques, Applied(technique.name, technique.level, dict(settings))),
    )


def described(technique: Technique) -> dict[str, Any]:
    """One row of the map that `paretoken techniques` prints."""
    return {
        "name": technique.name,
        "level": technique.level,
        "may_change": MAY_CHANGE[technique.level],
        "proof": PROOF[technique.level],
        "needs": technique.needs,
        "risk": technique.risk,
        "engines": list(technique.engines),
    }
