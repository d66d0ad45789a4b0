"""SIGKILL at random moments of a study: the file is never unreadable, nothing that was stored is lost, and a resume
runs again at most what was in flight."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paretoken.study.file import STUDY_FILE, StudyFile
from paretoken.study.studies import study_ids

from ..models.gguf_builder import small_llama

KILLS = 50
LONGEST_S = 2.5  # between a start and its kill
SCRIPT = Path(__file__).with_name("small_study.py")


def start(home: Path, model: Path, *, resume: bool) -> subprocess.Popen[str]:
    arguments = [sys.executable, str(SCRIPT), str(home), str(model), *(["resume"] if resume else [])]
    environment = {
        **os.environ,
        "PARETOKEN_CACHE": str(model.parent / "cache"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    return subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, process_group=0
    )


def stored(home: Path) -> list[tuple[str, str]]:
    """The steps that are stored of the newest study, read as a resume reads them."""
    ids = study_ids(home)
    if not ids:
        return []
    StudyFile(home / "studies" / ids[-1])  # raises where it cannot be read
    lines = (home / "studies" / ids[-1] / STUDY_FILE).read_bytes().split(b"\n")[:-1]
    return [(step["kind"], step["key"]) for step in map(json.loads, lines)]


def runs(home: Path) -> int:
    folder = home / "runs"
    return len(list(folder.iterdir())) if folder.is_dir() else 0


@pytest.mark.timeout(900)
def test_fifty_kills_cost_at_most_the_run_in_flight(tmp_path: Path) -> None:
    model = tmp_path / "base.gguf"
    model.write_bytes(small_llama().build())
    home, chance, kills, whole, resume = tmp_path / "home", random.Random(7), 0, 0, False
    known: list[tuple[str, str]] = []
    while kills < KILLS:
        before = runs(home)
        child = start(home, model, resume=resume)
        try:
            child.communicate(timeout=chance.uniform(0.0, LONGEST_S))
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            kills += 1
            time.sleep(0.05)  # until the supervisors have seen that we are gone
            now = stored(home)
            assert now[: len(known)] == known, "what was stored stays, in its order"
            kept = sum(kind in ("trial", "block") for kind, _ in now) - sum(
                kind in ("trial", "block") for kind, _ in known
            )
            assert runs(home) - before <= kept + 1, "at most the run in flight is lost"
            known, resume = now, bool(now)
        else:
            assert child.returncode == 0, child.stderr
            whole += 1
            known, resume = [], False  # and on to another study
    done = start(home, model, resume=resume)
    said, talk = done.communicate(timeout=300)
    assert done.returncode == 0, talk
    document = json.loads((home / "studies" / said.strip() / "result.json").read_text())
    assert document["finals"]["blocks"] == 2
    assert document["recommended"] is not None or document["why"]


def test_a_study_that_was_killed_says_the_same_as_one_that_was_not(tmp_path: Path) -> None:
    """The search asks the same after a kill: the stored trials are those of the same points in the same order."""
    model = tmp_path / "base.gguf"
    model.write_bytes(small_llama().build())
    home = tmp_path / "home"
    first = start(home, model, resume=False)
    said, talk = first.communicate(timeout=300)
    assert first.returncode == 0, talk
    folder = home / "studies" / said.strip()
    document, steps = json.loads((folder / "result.json").read_text()), stored(home)
    lines = (folder / STUDY_FILE).read_bytes().split(b"\n")
    trial = next(number for number, (kind, _) in enumerate(steps) if kind == "trial")
    (folder / STUDY_FILE).write_bytes(b"\n".join(lines[: trial + 2]) + b"\n" + lines[trial + 2][:20])
    again = start(home, model, resume=True)
    _, talk = again.communicate(timeout=300)
    assert again.returncode == 0, talk
    resumed = json.loads((folder / "result.json").read_text())
    asked = [(t["candidate"]["label"], t["effort"]) for t in document["trials"]]
    assert [(t["candidate"]["label"], t["effort"]) for t in resumed["trials"]][: trial + 1] == asked[: trial + 1]
    assert resumed["trials"][0]["run_ids"] == document["trials"][0]["run_ids"]
