"""Where studies lie: `studies/ID/` under the home; new ones, the newest, one by its ID."""

from pathlib import Path
from typing import Any

from paretoken.errors import CaptureError
from paretoken.records.files import read_json
from paretoken.records.ulid import is_ulid, new_ulid
from paretoken.study.file import RESULT_FILE, STUDY_FILE, StudyFile


def open_study(home: Path, resume: str | None) -> StudyFile:
    """A new study (None), the newest ("") or the one of that ID, locked for this process. Raises CaptureError."""
    if resume is None:
        folder = home / "studies" / new_ulid()
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, parents=True)
        except OSError as error:
            raise CaptureError(f"{home} cannot hold studies: {error.strerror}; give another --home") from error
        return StudyFile(folder, lock=True)
    return StudyFile(study_folder(home, resume), lock=True)


def study_ids(home: Path) -> list[str]:
    """All studies, oldest first (IDs sort by time)."""
    studies = home / "studies"
    if not studies.is_dir():
        return []
    return sorted(path.name for path in studies.iterdir() if is_ulid(path.name) and (path / STUDY_FILE).is_file())


def study_folder(home: Path, study_id: str) -> Path:
    """The folder of a study; "" is the newest. Raises CaptureError."""
    ids = study_ids(home)
    if not study_id:
        if not ids:
            raise CaptureError(f"there is no study in '{home}' yet; begin one: paretoken optimize")
        return home / "studies" / ids[-1]
    if study_id not in ids:
        there_are = f"the newest is {ids[-1]}" if ids else "there are none"
        raise CaptureError(f"there is no study '{study_id[:40]}' in '{home}'; {there_are}")
    return home / "studies" / study_id


def newest_with_result(home: Path) -> str:
    """The newest study that has a result; one that was only begun says nothing yet. Raises CaptureError."""
    found = [path.parent.name for path in home.glob(f"studies/*/{RESULT_FILE}") if is_ulid(path.parent.name)]
    if not found:
        raise CaptureError(f"there is no study with a result in {home}; make one: paretoken optimize")
    return max(found)  # IDs sort by time


def stored_result(folder: Path) -> dict[str, Any]:
    """The document of a finished study. Raises CaptureError for one that was never finished."""
    if not (folder / RESULT_FILE).is_file():
        raise CaptureError(f"study {folder.name} has no result yet; go on: paretoken optimize --resume {folder.name}")
    return read_json(folder / RESULT_FILE)
