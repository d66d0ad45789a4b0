"""The supervisor: how ends are told, how logs are kept, how secrets travel."""

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from paretoken.engines.supervisor import Supervised, cause_of_death
from paretoken.engines.supervisor_child import LINE_BYTES, TAIL_LINES, descendants
from paretoken.errors import EngineError


def program(code: str, **more: object) -> Supervised:
    return Supervised("fake", [sys.executable, "-S", "-c", code], grace_s=0.2, **more)  # type: ignore[arg-type]


def death_of(code: str) -> str:
    engine = program(code)
    try:
        death = engine.death(within_s=20)
    finally:
        engine.stop()
    assert death is not None
    return death


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise SystemExit(7)", "exit status 7"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "out of memory, it seems (killed by SIGKILL)"),
        ("print('Cannot allocate memory'); raise SystemExit(1)", "out of memory, it seems (exit status 1)"),
        ("print('last words', end=''); raise SystemExit(1)", "last words"),
    ],
)
def test_a_death_says_how(code: str, said: str) -> None:
    assert said in death_of(code)


@pytest.mark.parametrize(
    ("status", "tail", "cause"),
    [
        (11, "", "killed by SIGSEGV"),
        (3 << 8, "all well", "exit status 3"),
        (60, "", "signal 60"),
        (6, "ggml: failed to allocate buffer", "out of memory"),
        (9, "", "out of memory"),
    ],
)
def test_cause_of_death(status: int, tail: str, cause: str) -> None:
    assert cause in cause_of_death(status, tail)


def test_what_cannot_be_started() -> None:
    with pytest.raises(EngineError, match=r"could not be started: .*nowhere"):
        Supervised("fake", ["/nowhere/at/all"])


def test_the_tail_is_bounded_and_harmless() -> None:
    engine = program(
        "import sys\n"
        "for i in range(1000): print(i, 'x' * 5000)\n"
        "print('\\x1b[31mred\\x07 end'); sys.stdout.flush()\n"
        "import time; time.sleep(600)"
    )
    try:
        until = time.monotonic() + 20
        while "end" not in (tail := engine.log_tail()) and time.monotonic() < until:
            time.sleep(0.02)
    finally:
        engine.stop()
    lines = tail.splitlines()
    assert len(lines) == TAIL_LINES
    assert all(len(line) <= LINE_BYTES for line in lines)
    assert lines[-2].startswith("999 x")
    assert lines[-1] == " [31mred  end"


def test_an_engine_that_floods_its_log_can_be_stopped() -> None:
    engine = program("while True: print('flood' * 1000)")
    engine.stop()
    assert not engine.alive()
    assert engine.death() is None  # it was told to end


def test_the_log_file(tmp_path: Path) -> None:
    path = tmp_path / "engine.log"
    engine = program("print('first'); print('second')", log_path=path)
    engine.death(within_s=20)
    engine.stop()
    assert path.read_text() == "first\nsecond\n"


def test_long_orders_and_secrets_go_unseen() -> None:
    """Orders of more than a pipe or an argument holds arrive whole; a secret is in no command line."""
    engine = program(
        "import os, sys, time\nprint(len(sys.stdin.read()), os.environ['SECRET'], flush=True)\ntime.sleep(600)",
        stdin="o" * 300_000,
        env={"SECRET": "hush"},
    )
    try:
        until = time.monotonic() + 20
        while not (tail := engine.log_tail()) and time.monotonic() < until:
            time.sleep(0.02)
        assert tail == "300000 hush"
        if sys.platform.startswith("linux"):
            for pid in (engine.pid, engine.supervisor_pid):
                assert b"hush" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    finally:
        engine.stop()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="PDEATHSIG")
def test_the_thread_that_started_it_may_end() -> None:
    """PDEATHSIG comes at the end of the starting thread, too; that must not stop the engine."""
    started: list[Supervised] = []
    thread = threading.Thread(target=lambda: started.append(program("import time; time.sleep(600)")))
    thread.start()
    thread.join()
    engine = started[0]
    try:
        assert engine.death(within_s=0.3) is None
        assert engine.alive()
    finally:
        engine.stop()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_descendants() -> None:
    engine = program("import subprocess; subprocess.run(['sleep', '600'])")
    try:
        until = time.monotonic() + 20
        while len(found := descendants(engine.supervisor_pid)) < 2 and time.monotonic() < until:
            time.sleep(0.02)
        assert found[0] == engine.pid
        assert set(found) < set(descendants(os.getpid()))
    finally:
        engine.stop()
    assert descendants(engine.supervisor_pid) == []
