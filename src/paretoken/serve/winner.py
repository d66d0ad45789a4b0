"""A stored study → the candidate to serve, rebuilt from validated settings.

A study from elsewhere is data: settings go through the engine's own validation, a model is found by its fingerprint
(the base by its name or path, a made one in the cache or made again by its technique), and no stored command is run.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paretoken.core.candidate import Model
from paretoken.engines import ENGINES
from paretoken.engines.base import Engine, Listen, Settings
from paretoken.errors import CaptureError, ModelError
from paretoken.models.find import resolve
from paretoken.models.fingerprint import fingerprint
from paretoken.models.lineage import all_made
from paretoken.study.file import StudyFile
from paretoken.study.studies import newest_with_result, stored_result, study_folder
from paretoken.techniques.model.quantize import quantize


@dataclass(frozen=True, slots=True)
class Winner:
    study: str
    label: str
    engine: Engine
    settings: Settings
    model: Model

    def command(self, listen: Listen) -> list[str]:
        """An equivalent command of the engine's own server, for people."""
        return self.engine.launch_command(self.settings, self.model.path, listen)


def winner_of(home: Path, study_id: str) -> Winner:
    """The recommendation of a study; "" is the newest with a result. Raises CaptureError, ModelError, UsageError."""
    folder = study_folder(home, study_id or newest_with_result(home))
    document = stored_result(folder)
    recommended = document.get("recommended")
    if not isinstance(recommended, dict):
        why = document.get("why") or "its result says nothing of it"
        raise CaptureError(f"study {folder.name} recommends nothing ({why}); run paretoken optimize again")
    try:
        candidate = recommended["candidate"]
        engine: Engine = ENGINES.load(str(candidate["engine"]))()
        settings = engine.settings_type.from_json(candidate["engine_settings"])
        wanted = str(candidate["model"]["fingerprint"])
        label = str(recommended["label"])
    except (KeyError, TypeError) as error:
        raise CaptureError(
            f"the result of study {folder.name} is damaged ({error}); run paretoken optimize again"
        ) from error
    parameters = StudyFile(folder).done("parameters", "study") or {}
    return Winner(folder.name, label, engine, settings, _model(str(parameters.get("model", "")), wanted, candidate))


def _model(base_name: str, wanted: str, candidate: dict[str, Any]) -> Model:
    """The file with this fingerprint: the base itself, or what a technique made of it."""
    base = resolve(base_name)
    if base.fingerprint == wanted:
        return base
    for note in all_made():
        if note["file"]["sha256"] == wanted and fingerprint(Path(note["path"])) == wanted:
            return Model(f"{base.name}-made", note["path"], wanted, int(note["file"]["bytes"]))
    for applied in candidate.get("techniques", []):
        if applied.get("technique") == "quantize":
            made = quantize(base, str(applied["settings"]["to"]))
            if made.fingerprint == wanted:
                return made
    raise ModelError(
        f"the recommended model (SHA-256 {wanted[:12]}…) is neither here nor made again from '{base_name}'; "
        "run paretoken optimize again"
    )
