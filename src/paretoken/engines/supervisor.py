"""Our end of a supervised engine: start it, hear of it, stop it, and say why it ended.

Enters an argv with its stdin; leaves a `Supervised`, whose engine and every process below it end with `stop()`, with
this process (in any way, SIGKILL included), or by themselves. The supervisor is asked only when somebody wants to
know, so no thread of ours runs beside a measurement. Knows nothing of HTTP, models, or particular engines.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paretoken.engines import supervisor_child
from paretoken.engines.listeners import listens
from paretoken.errors import EngineError

GRACE_S = 3.0  # between "terminate" and "kill"
TAIL_SHOWN = 12  # of the last log lines, in an error
_SLACK_S = supervisor_child.KILL_S + 3.0
_OUT_OF_MEMORY = ("out of memory", "cannot allocate memory", "enomem", "failed to allocate", "bad_alloc", "memoryerror")


class Supervised:
    """One engine under its supervisor. Leaves no process behind once `stop` was called or this process ended."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        *,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        log_path: Path | None = None,
        grace_s: float = GRACE_S,
        cores: Sequence[int] | None = None,
    ) -> None:
        """Raises EngineError when argv cannot be executed. `env` is added to ours: the way for secrets. `cores` are
        those that the engine may run on, where the system can hold it to them."""
        self.name = name
        self._grace_s = grace_s
        self._lock = threading.Lock()
        self._heard = b""
        self._events: dict[str, dict[str, Any]] = {}  # the last of each sort
        self._deaf = False  # the supervisor closed its end
        self._stopping = False
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(supervisor_child.__file__)), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
        spec = {
            "argv": list(argv),
            "stdin": stdin,
            "log_path": None if log_path is None else str(log_path),
            "grace_s": grace_s,
            "owner_pid": os.getpid(),
            "cores": None if cores is None else list(cores),
        }
        with contextlib.ExitStack() as undo:
            undo.callback(self.stop)  # also when Ctrl-C comes while we wait
            self._send(json.dumps(spec))
            self._wait_for("started", "failed", timeout_s=10.0)
            if "failed" in self._events:
                raise EngineError(f"{name} could not be started: {self._events['failed']['message']}")
            if "started" not in self._events:
                raise EngineError(f"{name} could not be started: its supervisor did not answer")
            undo.pop_all()

    @property
    def supervisor_pid(self) -> int:
        return self._process.pid

    @property
    def pid(self) -> int:
        """The engine's process, which leads its own session and process group (pgid = pid)."""
        return int(self._events["started"]["pid"])

    def reported(self, timeout_s: float = 0.0) -> str | None:
        """What the engine wrote to its report pipe, waiting up to `timeout_s`; None when it wrote nothing yet."""
        self._wait_for("reported", "ended", timeout_s=timeout_s)
        event = self._events.get("reported")
        return None if event is None else str(event["data"])

    def owns(self, url: str) -> bool | None:
        """Does a process of ours listen there? None: nobody does yet."""
        return listens(url, self.supervisor_pid)

    def alive(self) -> bool:
        self._wait_for("ended", timeout_s=0.0)
        return "ended" not in self._events and not self._deaf

    def log_tail(self) -> str:
        """The last lines that the engine wrote (at most 40 of at most 500 bytes), control characters removed."""
        if self.alive():
            self._events.pop("tail", None)
            self._send("tail")
            self._wait_for("tail", "ended", timeout_s=2.0)
        event = self._events.get("ended") or self._events.get("tail") or {"tail": []}
        return "\n".join(_printable(line) for line in event["tail"])

    def death(self, within_s: float = 0.0) -> str | None:
        """One sentence on how the engine ended, with its last log lines; None while it runs or after `stop()`.
        A client may see its connection break a moment before the end is known: `within_s` waits for that."""
        if self._stopping:
            return None
        self._wait_for("ended", timeout_s=within_s)
        if self.alive():
            return None
        tail = self.log_tail()
        ended = self._events.get("ended")
        cause = "its supervisor was killed" if ended is None else cause_of_death(int(ended["status"]), tail)
        return with_tail(f"{self.name} died: {cause}", tail)

    def stop(self) -> None:
        """Terminate, then kill after the grace. Returns when nothing is left. A second call does nothing."""
        if self._process.returncode is not None:
            return
        self._stopping = self._stopping or self.alive()
        self._send("stop")
        self._wait_for("ended", timeout_s=self._grace_s + _SLACK_S)
        if "ended" not in self._events:
            self._kill()
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate(timeout=_SLACK_S)
        self._deaf = True

    def _kill(self) -> None:
        """The supervisor itself failed or was killed: the last resort, from here."""
        victims = supervisor_child.descendants(self.supervisor_pid)
        for pid in [*victims, self.supervisor_pid]:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if "started" in self._events:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def _send(self, word: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):  # it is gone or closed; the next question says so
            self._process.stdin.write(word.encode() + b"\n")
            self._process.stdin.flush()

    def _wait_for(self, *kinds: str, timeout_s: float) -> None:
        """Reads events until one of `kinds` is known, the supervisor is gone, or the time is up."""
        until = time.monotonic() + timeout_s
        with self._lock, selectors.DefaultSelector() as selector:
            while not self._deaf and not any(kind in self._events for kind in kinds):
                assert self._process.stdout is not None
                if not selector.get_map():
                    selector.register(self._process.stdout, selectors.EVENT_READ)
                if not selector.select(max(0.0, until - time.monotonic())):
                    return
                data = os.read(self._process.stdout.fileno(), 1 << 16)
                self._deaf = not data
                *lines, self._heard = (self._heard + data).split(b"\n")
                for line in lines:
                    event = json.loads(line)
                    self._events[event["event"]] = event


def cause_of_death(status: int, tail: str) -> str:
    """A wait status and the last log lines → what happened, and what to do where that is known."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        how = f"killed by {signal.Signals(number).name}" if number in set(signal.Signals) else f"signal {number}"
        # Nobody but the kernel's memory killer usually sends this one.
        memory = number == signal.SIGKILL
    else:
        how, memory = f"exit status {os.waitstatus_to_exitcode(status)}", False
    if memory or any(sign in tail.lower() for sign in _OUT_OF_MEMORY):
        return f"out of memory, it seems ({how}); use fewer slots, a smaller context or a smaller model"
    return how


def with_tail(sentence: str, tail: str) -> str:
    lines = tail.splitlines()[-TAIL_SHOWN:]
    return sentence if not lines else "\n  ".join([f"{sentence}; its last log lines:", *lines])


def _printable(line: str) -> str:
    """An engine's log may hold what a model or a client sent: no escape sequence of it reaches a terminal."""
    return "".join(c if c.isprintable() else " " for c in line.expandtabs(4)).rstrip()
