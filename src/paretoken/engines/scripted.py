"""The scripted engine: answers with given times, chunks, errors and lies (script.py), from a process of its own.

For trying out a tool, a gate or a dashboard without a model; our own tests use it for the same. `null` is the same
program with nothing to wait for.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paretoken.engines.base import LOCAL, START_TIMEOUT_S, Listen, Settings
from paretoken.engines.launch import Launched, launch_program
from paretoken.engines.script import ScriptedSettings
from paretoken.errors import UsageError
from paretoken.version import __version__


def launch_scripted(
    name: str,
    settings: ScriptedSettings,
    engine_args: Mapping[str, Any],
    *,
    listen: Listen,
    log_dir: Path | None,
    timeout_s: float,
    cores: tuple[int, ...] | None = None,
) -> Launched:
    return launch_program(
        name,
        [sys.executable, "-m", "paretoken.engines.scripted_server"],
        {"settings": settings.as_json()},
        model_name=name,
        engine_args=engine_args,
        listen=listen,
        log_dir=log_dir,
        timeout_s=timeout_s,
        cores=cores,
    )


class Scripted:
    name = "scripted"
    settings_type: type[Settings] = ScriptedSettings

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
        """`model_path` is not read: the script says what is answered."""
        if not isinstance(settings, ScriptedSettings):
            raise UsageError(f"scripted takes ScriptedSettings, not {type(settings).__name__}")
        return launch_scripted(
            self.name,
            settings,
            settings.as_json(),
            listen=listen,
            log_dir=log_dir,
            timeout_s=timeout_s,
            cores=cores,
        )

    def version(self) -> dict[str, str | None]:
        return {"wheel": __version__, "library_sha256": None}

    def missing(self) -> str | None:
        return None

    def request_extra(self, settings: Settings) -> dict[str, Any]:
        return {}

    def launch_command(self, settings: Settings, model_path: str | None, listen: Listen = LOCAL) -> list[str]:
        return []
