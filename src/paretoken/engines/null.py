"""The null engine: answers at once, with as many tokens as asked. What a client measures against it is the client.

A real HTTP server in a process of its own, under the same supervisor as any other engine.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paretoken.engines.base import LOCAL, START_TIMEOUT_S, Listen, Settings
from paretoken.engines.launch import Launched
from paretoken.engines.script import ScriptedSettings
from paretoken.engines.scripted import launch_scripted
from paretoken.version import __version__


@dataclass(frozen=True)
class NullSettings(Settings):
    """Nothing can be set."""


class Null:
    name = "null"
    settings_type: type[Settings] = NullSettings

    def launch(
        self,
        model_path: str | None,
        settings: Settings,
        *,
        listen: Listen = LOCAL,
        log_dir: Path | None = None,
        timeout_s: float = START_TIMEOUT_S,
        cores: tuple[int, ...] | None = None,
    ) -> Launched:
        """`model_path` is not read."""
        return launch_scripted(
            self.name, ScriptedSettings(), {}, listen=listen, log_dir=log_dir, timeout_s=timeout_s, cores=cores
        )

    def version(self) -> dict[str, str | None]:
        return {"wheel": __version__, "library_sha256": None}

    def missing(self) -> str | None:
        return None

    def request_extra(self, settings: Settings) -> dict[str, Any]:
        return {}

    def launch_command(self, settings: Settings, model_path: str | None, listen: Listen = LOCAL) -> list[str]:
        return []
