"""What was made from what: base, technique and settings → one file in the cache, made once.

Enters a base model, a technique's name and settings, and a function that builds the file; leaves the made `Model`, and
beside its file `lineage.json`. The folder's name is a digest of what it was made from, so two models of one name, or
two settings of one technique, never meet. A file that is not intact is made again.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from paretoken.core.candidate import Model, digest_of
from paretoken.models.cache import (
    cache_dir,
    drop_left_over,
    locked,
    made_dir,
    need_space,
    put,
    put_json,
    read_json,
    refused,
    work_dir,
)
from paretoken.models.fingerprint import fingerprint
from paretoken.version import __version__

SCHEMA = 1
FILE = "model.gguf"
NOTE = "lineage.json"

Build = Callable[[Path], Mapping[str, Any]]


def make(
    base: Model,
    technique: str,
    settings: Mapping[str, Any],
    build: Build,
    *,
    name: str,
    bytes_needed: int,
    cache: Path | None = None,
) -> Model:
    """The model that `technique` with `settings` makes of `base`, built unless it is here already.

    `build` writes the file at the path that it is given, and returns facts about it for the lineage. `name` is for
    people and becomes no part of a path. Raises ModelError."""
    cache = cache or cache_dir()
    source = {"base": base.fingerprint, "technique": technique, "settings": dict(settings), "tool": __version__}
    folder = made_dir(cache / "made" / digest_of(source))
    with locked(folder / "make.lock"):
        known = _intact(folder, name, cache)
        if known is not None:
            return known
        drop_left_over(folder)
        need_space(folder, bytes_needed, f"making {technique} of {base.name}")
        with work_dir(folder) as work:
            result = _built(build, work / FILE)
            put(work / FILE, folder / FILE)
        made = _model(folder, name, cache)
        # The note comes last: a file without it was not finished.
        put_json(
            folder / NOTE,
            {
                "schema": SCHEMA,
                "base": base.as_json(),
                "technique": technique,
                "settings": dict(settings),
                "tool_version": __version__,
                "file": {"bytes": made.bytes, "sha256": made.fingerprint},
                "result": dict(result),
            },
        )
        return made


def lineage_of(model: Model, cache: Path | None = None) -> dict[str, Any] | None:
    """What `make` noted about a model of this content, wherever its file lies; None if it was not made here."""
    for note in all_made(cache):
        if note["file"] == {"bytes": model.bytes, "sha256": model.fingerprint}:
            return {key: value for key, value in note.items() if key != "path"}
    return None


def all_made(cache: Path | None = None) -> list[dict[str, Any]]:
    """The notes of all made models, each with its `path`, in the order of their folders; damaged ones are left out."""
    found = []
    for path in sorted((cache or cache_dir()).glob(f"made/*/{NOTE}")):
        note = _note(path)
        if note is not None and (path.parent / FILE).is_file():
            found.append({**note, "path": str(path.parent / FILE)})
    return found


def _note(path: Path) -> dict[str, Any] | None:
    note = read_json(path)
    if note is None or note.get("schema") != SCHEMA:
        return None
    return note if all(isinstance(note.get(part), dict) for part in ("base", "file", "result")) else None


def _built(build: Build, path: Path) -> Mapping[str, Any]:
    with refused(path.parent.parent / FILE):
        return build(path)


def _model(folder: Path, name: str, cache: Path) -> Model:
    path = folder / FILE
    return Model(name, str(path), fingerprint(path, cache), path.stat().st_size)


def _intact(folder: Path, name: str, cache: Path) -> Model | None:
    note = _note(folder / NOTE)
    if note is None or not (folder / FILE).is_file():
        return None
    model = _model(folder, name, cache)
    return model if note["file"] == {"bytes": model.bytes, "sha256": model.fingerprint} else None
