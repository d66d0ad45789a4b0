"""A stored study → the candidate that it recommends, from validated settings: to serve it, or to check it again.

A study from elsewhere is data: settings go through the engine's own validation, a model is found by its fingerprint
(the base by its name or path, a made one in the cache or made again by its technique), and no stored command is run.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from paretoken.core.candidate import Applied, Candidate, Model
from paretoken.engines import ENGINES
from paretoken.engines.base import Engine, Listen, Settings
from paretoken.engines.replicas import launch_commands
from paretoken.errors import CaptureError, ModelError
from paretoken.models.find import resolve
from paretoken.models.fingerprint import fingerprint
from paretoken.models.lineage import all_made
from paretoken.study.file import STUDY_FILE, StudyFile
from paretoken.study.studies import newest_with_result, stored_result, study_folder
from paretoken.techniques.model.quantize import quantize


@dataclass(frozen=True, slots=True)
class Winner:
    study: str
    label: str
    engine: Engine
    settings: Settings
    model: Model
    candidate: Candidate

    @property
    def replicas(self) -> int:
        return self.candidate.replicas

    def commands(self, listen: Listen) -> list[list[str]]:
        """Equivalent commands of the engine's own server, one a replica, for people."""
        return launch_commands(self.engine, self.settings, self.model.path, self.replicas, listen)


def winner_of(home: Path, study_id: str) -> Winner:
    """The recommendation of a study; "" is the newest with a result. Raises CaptureError, ModelError, UsageError."""
    folder = study_folder(home, study_id) if study_id else home / "studies" / newest_with_result(home)
    document = stored_result(folder)
    recommended = document.get("recommended")
    if not isinstance(recommended, dict):
        why = document.get("why") or "its result says nothing of it"
        raise CaptureError(f"study {folder.name} recommends nothing ({why}); run paretoken optimize again")
    try:
        found = msgspec.convert(recommended, _Recommended)
        engine: Engine = ENGINES.load(found.candidate.engine)()
        settings = engine.settings_type.from_json(found.candidate.engine_settings)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise CaptureError(
            f"the result of study {folder.name} is damaged ({error}); run paretoken optimize again"
        ) from error
    if not (folder / STUDY_FILE).is_file():
        raise CaptureError(f"study {folder.name} lacks its {STUDY_FILE}; copy the whole folder")
    parameters = StudyFile(folder).done("parameters", "study") or {}
    base_name = str(parameters.get("model", ""))
    model = _model(base_name, found.candidate)
    applied = tuple(
        Applied(each.technique, each.level, each.settings) for each in found.candidate.techniques if each.level
    )
    candidate = Candidate(
        found.label, found.candidate.engine, model, settings.as_json(), applied, found.candidate.replicas
    )
    return Winner(folder.name, found.label, engine, settings, model, candidate)


class _Weights(msgspec.Struct):
    fingerprint: str


class _Applied(msgspec.Struct):
    technique: str
    settings: dict[str, Any]
    level: str = ""


class _Candidate(msgspec.Struct):
    engine: str
    engine_settings: dict[str, Any]
    model: _Weights
    techniques: list[_Applied] = []
    replicas: Annotated[int, msgspec.Meta(ge=1, le=256)] = 1


class _Recommended(msgspec.Struct):
    """What is served of a result; its shape is checked, since anybody may have written it."""

    label: str
    candidate: _Candidate


def _model(base_name: str, candidate: _Candidate) -> Model:
    """The file with this fingerprint: the base itself, or what a technique made of it."""
    base, wanted = resolve(base_name), candidate.model.fingerprint
    if base.fingerprint == wanted:
        return base
    for note in all_made():
        if note["file"]["sha256"] == wanted and fingerprint(Path(note["path"])) == wanted:
            return Model(f"{base.name}-made", note["path"], wanted, int(note["file"]["bytes"]))
    for applied in candidate.techniques:
        if applied.technique == "quantize":
            made = quantize(base, str(applied.settings.get("to")))
            if made.fingerprint == wanted:
                return made
    raise ModelError(
        f"the recommended model (SHA-256 {wanted[:12]}…) is neither here nor made again from '{base_name}'; "
        "run paretoken optimize again"
    )
