"""The thing judged: a model, an engine, and techniques with their settings. Plain data."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MODEL_LEVEL = "model"
SERVICE_LEVEL = "service"


def digest_of(value: Any) -> str:
    """SHA-256 of a JSON value in canonical form: equal content, equal digest."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Model:
    """A model file and its content's fingerprint (SHA-256): where it lies, and what it is."""

    name: str
    path: str
    fingerprint: str
    bytes: int

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "fingerprint": self.fingerprint, "bytes": self.bytes}


@dataclass(frozen=True, slots=True)
class Applied:
    """One technique as switched on: its name, its level, its settings."""

    technique: str
    level: str  # MODEL_LEVEL or SERVICE_LEVEL
    settings: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        return {"technique": self.technique, "level": self.level, "settings": dict(self.settings)}


@dataclass(frozen=True, slots=True)
class Candidate:
    """`engine_settings` are the adapter's own validated names (engines/llamacpp.py: threads, slots, …)."""

    label: str
    engine: str
    model: Model
    engine_settings: Mapping[str, Any]
    techniques: tuple[Applied, ...] = field(default=())
    replicas: int = 1  # engine processes on disjoint cores; `engine_settings` are those of one

    def as_json(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "engine": self.engine,
            "model": self.model.as_json(),
            "engine_settings": dict(self.engine_settings),
            "replicas": self.replicas,
            "techniques": [t.as_json() for t in self.techniques],
        }

    @property
    def key(self) -> str:
        """Identity for caches: engine, weights and settings, not the label or the path."""
        return digest_of(
            {
                "engine": self.engine,
                "model": self.model.fingerprint,
                "settings": dict(self.engine_settings),
                "replicas": self.replicas,
            }
        )
