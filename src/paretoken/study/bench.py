"""Where a study works: its store, its engine, its machine, and what it says meanwhile."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paretoken.engines import ENGINES
from paretoken.engines.base import Engine, Settings
from paretoken.machine.describe import describe
from paretoken.records.store import Store
from paretoken.study.talk import Silent, Talk


@dataclass(frozen=True, slots=True)
class Bench:
    """Everything that stays the same while candidates change."""

    store: Store
    engine: Engine
    machine: dict[str, Any]
    talk: Talk = field(default_factory=Silent)

    @classmethod
    def at(cls, home: Path, engine: str, talk: Talk | None = None) -> "Bench":
        """Raises UsageError for an engine that does not exist."""
        adapter: Engine = ENGINES.load(engine)()
        return cls(Store(home), adapter, describe(), talk or Silent())

    def settings(self, values: dict[str, Any]) -> Settings:
        """Raises UsageError for a setting that the engine does not have."""
        return self.engine.settings_type.from_json(values)
