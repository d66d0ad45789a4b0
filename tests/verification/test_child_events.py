import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paretoken.verification.child_events import ChildFailed, events_of

HELLO = "import json, sys; plan = json.loads(sys.stdin.readline()); "


def run(code: str, plan: dict[str, Any] | None = None, timeout_s: float = 30.0) -> list[dict[str, Any]]:
    return list(events_of([sys.executable, "-c", HELLO + code], plan or {}, timeout_s))


def ends(pid: int) -> bool:
    """Gone within ten seconds (a killed process may take a moment to be reaped by init)."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_the_plan_goes_in_and_events_come_out() -> None:
    assert run("print(json.dumps({'n': plan['n'] + 1})); print('{}')", {"n": 4}) == [{"n": 5}, {}]


def test_a_plan_larger_than_a_pipe() -> None:
    assert run("print(json.dumps({'n': len(plan['text'])}))", {"text": "x" * 500_000}) == [{"n": 500_000}]


def test_its_environment_is_ours_and_what_is_added() -> None:
    code = "import os; print(json.dumps({'a': os.environ['EXTRA'], 'b': 'PATH' in os.environ}))"
    argv = [sys.executable, "-c", HELLO + code]
    assert list(events_of(argv, {}, 30.0, {"EXTRA": "1"})) == [{"a": "1", "b": True}]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", r"crashed \(SIGSEGV\)"),
        ("sys.exit('\\x1b[31mno such model')", r"ended with status 1:\s+\[31mno such model"),
        ("print('hello')", "not an event"),
        ("print('[1]')", "not an event"),
        ("sys.stdout.write('x' * (3 << 20))", "more than it was asked for"),
    ],
)
def test_how_it_failed_is_one_clause(code: str, said: str) -> None:
    with pytest.raises(ChildFailed, match=said) as caught:
        run(code)
    assert "\x1b" not in str(caught.value)


def test_it_gets_only_so_much_time() -> None:
    with pytest.raises(ChildFailed, match="did not finish within 0 s"):
        run("import time; time.sleep(60)", timeout_s=0.3)


def test_a_child_that_closed_its_mouth_still_gets_only_so_much_time() -> None:
    with pytest.raises(ChildFailed, match="did not finish"):
        run("import os, time; os.close(1); os.close(2); time.sleep(60)", timeout_s=0.5)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks into /proc")
@pytest.mark.parametrize("leave", ["close", "time out"])
def test_its_whole_group_is_gone_afterwards(leave: str) -> None:
    code = (
        "import os, subprocess; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
        "print(json.dumps({'child': os.getpid(), 'grandchild': p.pid}), flush=True); import time; time.sleep(600)"
    )
    events = events_of([sys.executable, "-c", HELLO + code], {}, 60.0 if leave == "close" else 1.5)
    pids = next(events)
    finish: Callable[[], Any] = events.close if leave == "close" else lambda: next(events)
    if leave == "close":
        finish()
    else:
        with pytest.raises(ChildFailed):
            finish()
    assert ends(pids["child"])
    assert ends(pids["grandchild"])


def test_its_stdin_stays_open_as_long_as_we_listen() -> None:
    """The end of stdin is how the child learns that its parent is gone."""
    code = "import os, select; print(json.dumps({'ended': bool(select.select([0], [], [], 0.2)[0])}))"
    assert run(code) == [{"ended": False}]
