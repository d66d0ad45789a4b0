"""Case el-no-orphans: four endings of an engine that does not want to go, and a fifth."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paretoken.engines.launch import Launched, launch_program
from paretoken.engines.script import ScriptedSettings
from paretoken.errors import EngineError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
HERE = Path(__file__).parent
LEFT = json.loads((HERE.parent / "cases" / "el-no-orphans.json").read_text())["expect"]["processes_left_after_10s"]


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "engine.lock"


def start(lock: Path, way: str, settings: ScriptedSettings | None = None, timeout_s: float = 60) -> Launched:
    return launch_program(
        "stubborn",
        [sys.executable, str(HERE / "stubborn.py"), str(lock), way],
        {"settings": (settings or ScriptedSettings()).as_json()},
        model_name="m",
        engine_args={},
        timeout_s=timeout_s,
        grace_s=0.2,
    )


def processes_with(lock: Path) -> list[int]:
    """Pids of the engine and its child: both have the lock's path as an argument."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            arguments = place.read_bytes().split(b"\0")
        except OSError:  # it ended meanwhile
            continue
        if str(lock).encode() in arguments:
            found.append(int(place.parent.name))
    return found


def nobody_left(lock: Path) -> None:
    until = time.monotonic() + 10
    while len(processes_with(lock)) > LEFT and time.monotonic() < until:
        time.sleep(0.02)
    assert len(processes_with(lock)) == LEFT


def next_start_works(lock: Path) -> None:
    """The lock is what a next engine would fail at if anything of the last one were left."""
    with start(lock, "stay") as running:
        assert running.alive()


@pytest.mark.parametrize("way", ["stay", "escape"])
def test_normal_stop(lock: Path, way: str) -> None:
    with start(lock, way):
        assert len(processes_with(lock)) == 2
    assert processes_with(lock) == []  # at once: stop() returns when nothing is left
    next_start_works(lock)


def test_start_up_timeout(lock: Path) -> None:
    with pytest.raises(EngineError, match=r"was not ready after 1 s.*HTTP 503"):
        start(lock, "escape", ScriptedSettings(ready_after_s=1000), timeout_s=1.0)
    assert processes_with(lock) == []
    next_start_works(lock)


@pytest.mark.parametrize(
    ("number", "way"), [(signal.SIGINT, "stay"), (signal.SIGKILL, "stay"), (signal.SIGKILL, "escape")]
)
def test_ctrl_c_and_sigkill_of_the_tool(lock: Path, number: signal.Signals, way: str) -> None:
    tool = [sys.executable, str(HERE / "holder.py"), str(lock), way]
    with subprocess.Popen(tool, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"ready\n"
        assert len(processes_with(lock)) == 3  # the holder, too, has the path as an argument
        holder.send_signal(number)
        assert holder.wait(10) == -number
    nobody_left(lock)
    next_start_works(lock)


def test_ctrl_c_while_it_starts(lock: Path) -> None:
    """The engine never becomes ready; the interrupt comes while we wait for it."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_endings import *\n"
        "print('starting', flush=True)\n"
        "start(Path(sys.argv[2]), 'escape', ScriptedSettings(ready_after_s=1000))"
    )
    tool = [sys.executable, "-c", code, str(HERE), str(lock)]
    with subprocess.Popen(tool, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as holder:
        until = time.monotonic() + 30
        while len(processes_with(lock)) < 3 and time.monotonic() < until:
            time.sleep(0.02)
        holder.send_signal(signal.SIGINT)
        assert holder.wait(10) == -signal.SIGINT
    nobody_left(lock)


def test_supervisor_killed(lock: Path) -> None:
    with start(lock, "stay") as running:
        os.kill(running.supervisor_pid, signal.SIGKILL)
        with pytest.raises(EngineError, match="supervisor was killed"):
            running.check(within_s=10)
    nobody_left(lock)
    next_start_works(lock)


def test_engine_dies_and_leaves_a_child(lock: Path) -> None:
    with start(lock, "escape") as running:
        assert running.pid is not None
        os.kill(running.pid, signal.SIGSEGV)
        with pytest.raises(EngineError, match="killed by SIGSEGV"):
            running.check(within_s=10)
        assert processes_with(lock) == []  # its end is told only when its children are gone
    next_start_works(lock)
