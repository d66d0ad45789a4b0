"""The supervisor: a small process that owns one engine and outlives nothing.

Enters, on stdin: one JSON line (argv, stdin, log_path, grace_s, owner_pid, cores), then the words `tail` and `stop`.
End of file on stdin means that the parent is gone. Leaves, on stdout: one JSON line an event (started, failed,
reported, tail, ended). However it ends, every process that the engine started is gone first: on Linux those that moved
to another session too, since this process adopts orphans (PR_SET_CHILD_SUBREAPER) and finds them in /proc.
It knows nothing of engines. Standard library only, and nothing of Paretoken: it is run as a file under `python -I -S`
so that it starts in a few hundredths of a second and in any interpreter.
"""

import contextlib
import ctypes
import io
import json
import os
import resource
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any

LINUX = sys.platform.startswith("linux")
REPORT_FD = "PARETOKEN_REPORT_FD"  # environment variable: where the engine writes `{"url": …}` once it listens
TAIL_LINES = 40
LINE_BYTES = 500  # of one line in the tail
LOG_FILE_BYTES = 16 << 20
KILL_S = 2.0  # how long killed processes may take to vanish before they are reported as left
POLL_S = 0.02
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def parents_by_pid() -> dict[int, tuple[int, str]]:
    """Every process: its parent and its state letter, from /proc. Empty where there is no /proc."""
    found = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended while we were looking
            # The name in parentheses may hold anything; what follows its last ')' is `state ppid …`.
            state, parent = place.read_text(errors="replace").rpartition(")")[2].split()[:2]
            found[int(place.parent.name)] = (int(parent), state)
    return found


def descendants(root: int) -> list[int]:
    """Pids of all living processes below `root`, nearest first; zombies are left out."""
    everybody = parents_by_pid()
    below: list[int] = []
    level = {root}
    while level:
        level = {pid for pid, (parent, _) in everybody.items() if parent in level}
        below += sorted(level)
    return [pid for pid in below if everybody[pid][1] != "Z"]


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


class Supervisor:
    """One engine from its start to the end of its last process. The state is this process's, so there is one only."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.grace_s = float(spec["grace_s"])
        self.tail: deque[bytes] = deque(maxlen=TAIL_LINES)
        self.partial = b""
        self.logged_bytes = 0
        self.status: int | None = None  # the engine's wait status, once it ended
        self.stop_by: float | None = None  # set once it was told to stop: when patience ends
        self.killed: list[int] = []
        self.words = b""
        self.selector = selectors.DefaultSelector()
        # Opened for the whole life of this process.
        self.log = Path(spec["log_path"]).open("ab") if spec["log_path"] else None  # noqa: SIM115
        self.owner_pid = int(spec["owner_pid"])
        if spec.get("cores") and LINUX:
            os.sched_setaffinity(0, spec["cores"])  # the engine inherits it, and so do all threads that it starts
        self.engine = self._start(spec)

    def _start(self, spec: dict[str, Any]) -> subprocess.Popen[bytes]:
        report_read, report_write = os.pipe()
        supervisor = os.getpid()

        def die_with_supervisor() -> None:
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != supervisor:  # it died before the line above
                os._exit(1)

        with tempfile.TemporaryFile() as asked:  # a file, so that no length of it can block us
            asked.write(spec["stdin"].encode())
            asked.seek(0)
            engine = subprocess.Popen(
                spec["argv"],
                stdin=asked,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, REPORT_FD: str(report_write)},
                pass_fds=(report_write,),
                start_new_session=True,
                preexec_fn=die_with_supervisor if LINUX else None,
            )
        os.close(report_write)
        assert engine.stdout is not None
        for stream, read in ((0, self._read_parent), (engine.stdout.fileno(), self._read_log)):
            os.set_blocking(stream, False)
            self.selector.register(stream, selectors.EVENT_READ, read)
        os.set_blocking(report_read, False)
        self.selector.register(report_read, selectors.EVENT_READ, self._read_report)
        say({"event": "started", "pid": engine.pid})
        return engine

    def run(self, wakeup: socket.socket) -> None:
        self.selector.register(wakeup, selectors.EVENT_READ, lambda fd: self._read_signals(wakeup))
        while not self._over():
            stopping = self.stop_by is not None
            for key, _ in self.selector.select(POLL_S if stopping else None):
                key.data(key.fd)
        assert self.engine.stdout is not None
        while self._read_log(self.engine.stdout.fileno()):
            pass  # its last words
        say({"event": "ended", "status": self.status, "killed": self.killed, "left": self._alive(), **self._tail()})

    def _over(self) -> bool:
        """Moves towards the end: True once nothing is left of the engine, or nothing more can be done."""
        self._reap()
        if self.status is not None and self.stop_by is None:
            self.stop_by = time.monotonic()  # it died by itself: what it left behind gets no grace
        if self.stop_by is None:
            return False
        if self.status is not None and not self._alive():
            return True
        if time.monotonic() < self.stop_by:
            return False
        self._kill()
        return True

    def stop(self) -> None:
        if self.stop_by is None:
            self.stop_by = time.monotonic() + self.grace_s
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.engine.pid, signal.SIGTERM)

    def _kill(self) -> None:
        until = time.monotonic() + KILL_S
        while (alive := self._alive()) and time.monotonic() < until:
            for pid in alive:
                if pid not in self.killed:
                    self.killed.append(pid)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.engine.pid, signal.SIGKILL)
            time.sleep(POLL_S)
            self._reap()

    def _alive(self) -> list[int]:
        if LINUX:
            return descendants(os.getpid())
        try:  # elsewhere: is anybody left in the engine's group?
            os.killpg(self.engine.pid, 0)
        except (ProcessLookupError, PermissionError):
            return []
        return [self.engine.pid]

    def _reap(self) -> None:
        """Collects the engine and the orphans that we adopted."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self.engine.pid:
                    self.status = self.engine.returncode = status

    def _read_parent(self, fd: int) -> None:
        data = _read(fd)
        if data is None:
            return
        if not data:
            self.selector.unregister(fd)
            self.stop()
        self.words += data
        *words, self.words = self.words.split(b"\n")
        for word in words:
            if word == b"stop":
                self.stop()
            elif word == b"tail":
                say({"event": "tail", **self._tail()})

    def _read_report(self, fd: int) -> None:
        data = _read(fd)
        if data:
            say({"event": "reported", "data": data.decode(errors="replace")})
        elif data is not None:
            self.selector.unregister(fd)

    def _read_log(self, fd: int) -> bool:
        """One read, so that an engine that floods its log cannot keep us from our other work. Was there anything?"""
        data = _read(fd)
        if data == b"" and fd in self.selector.get_map():
            self.selector.unregister(fd)
        if not data:
            return False
        if self.log and self.logged_bytes < LOG_FILE_BYTES:
            self.log.write(data[: LOG_FILE_BYTES - self.logged_bytes])
            self.log.flush()
            self.logged_bytes += len(data)
        *lines, rest = (self.partial + data).split(b"\n")
        self.tail.extend(line[:LINE_BYTES] for line in lines if line.strip())
        self.partial = rest[:LINE_BYTES]
        return True

    def _read_signals(self, wakeup: socket.socket) -> None:
        # SIGUSR1 is our PDEATHSIG. It also comes when only the *thread* that started us ended, so we look.
        signals = wakeup.recv(4096)
        if signal.SIGTERM in signals or os.getppid() != self.owner_pid:
            self.stop()

    def _tail(self) -> dict[str, list[str]]:
        lines = [*self.tail, self.partial] if self.partial.strip() else [*self.tail]
        return {"tail": [line.decode(errors="replace") for line in lines]}


def _read(fd: int) -> bytes | None:
    """What is there (b"" = end of file), or None when nothing is there yet."""
    try:
        return os.read(fd, 1 << 16)
    except BlockingIOError:
        return None


def say(event: dict[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):  # the parent is gone: nobody to tell, and the rest must still be done
        os.write(1, json.dumps(event).encode() + b"\n")


def main() -> None:
    order = io.FileIO(0, closefd=False).readline()  # unbuffered: what follows is for the selector
    if not order.strip():
        return  # the parent ended before it said anything
    spec = json.loads(order)
    waker, wakeup = socket.socketpair()
    waker.setblocking(False)
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    # Ctrl-C is the parent's to answer. A handler, not SIG_IGN, which the engine would inherit.
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash of a large engine must not fill the disk
    if LINUX:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGUSR1)
    try:
        supervisor = Supervisor(spec)
    except OSError as error:
        say({"event": "failed", "message": str(error)})
        return
    if os.getppid() != supervisor.owner_pid:
        supervisor.stop()
    supervisor.run(wakeup)


if __name__ == "__main__":
    main()
