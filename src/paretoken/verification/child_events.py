"""A child of ours that is told one line of JSON and answers with lines of JSON, under limits.

Enters argv, the plan and a time limit; leaves the child's events one by one, and its end: exit status or signal with
the last lines it wrote to stderr. Whatever happens here (Ctrl-C, an error, a stopped iteration), the child's whole
process group is gone afterwards. Knows nothing of models.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

_LINE_BYTES = 1 << 20
_ALL_BYTES = 256 << 20
_STDERR_KEPT = 4096
_READ = 1 << 16


class ChildFailed(Exception):
    """It crashed, ran out of time, or said too much or nonsense; one clause, without a subject."""


def events_of(
    argv: Sequence[str], plan: Mapping[str, Any], timeout_s: float, env: Mapping[str, str] | None = None
) -> Generator[dict[str, Any]]:
    """Yields until the child closes its stdout; `env` is added to ours. Raises ChildFailed."""
    until = time.monotonic() + timeout_s
    child = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **(env or {})},
        start_new_session=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    try:
        # The child reads this line first of all, so a plan larger than the pipe does not block for long; its stdin
        # stays open as long as we live, because its end tells the child to end.
        with contextlib.suppress(BrokenPipeError):  # it died at once; its status says more than the pipe
            child.stdin.write(json.dumps(plan).encode() + b"\n")
            child.stdin.flush()
        said = bytearray()
        yield from _lines(child, until, timeout_s, said)
        _wait(child, until, timeout_s)
        if child.returncode != 0:
            raise ChildFailed(_ending(child.returncode, said))
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        for pipe in (child.stdin, child.stdout, child.stderr):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def _lines(
    child: "subprocess.Popen[bytes]", until: float, timeout_s: float, said: bytearray
) -> Iterator[dict[str, Any]]:
    assert child.stdout is not None
    assert child.stderr is not None
    waiting = b""
    total = 0
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        selector.register(child.stderr, selectors.EVENT_READ)
        while child.stdout in (key.fileobj for key in selector.get_map().values()):
            ready = selector.select(max(0.0, until - time.monotonic()))
            if not ready:
                raise ChildFailed(f"did not finish within {timeout_s:.0f} s")
            for key, _ in ready:
                data = os.read(key.fd, _READ)
                if not data:
                    selector.unregister(key.fileobj)
                elif key.fileobj is child.stderr:
                    said += data
                    del said[:-_STDERR_KEPT]
                else:
                    total += len(data)
                    *lines, waiting = (waiting + data).split(b"\n")
                    if total > _ALL_BYTES or len(waiting) > _LINE_BYTES:
                        raise ChildFailed("said more than it was asked for")
                    yield from map(_event, lines)


def _event(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError as error:
        raise ChildFailed("wrote something that is not an event") from error
    if not isinstance(event, dict):
        raise ChildFailed("wrote something that is not an event")
    return event


def _wait(child: "subprocess.Popen[bytes]", until: float, timeout_s: float) -> None:
    try:
        child.wait(timeout=max(0.1, until - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise ChildFailed(f"did not finish within {timeout_s:.0f} s") from error


def _ending(status: int, said: bytes | bytearray) -> str:
    lines = [
        "".join(c if c.isprintable() else " " for c in line).strip()
        for line in said.decode("utf-8", "replace").splitlines()
    ]
    last = next((line for line in reversed(lines) if line), "")
    if status < 0:
        names = {s.value: s.name for s in signal.Signals}
        how = f"crashed ({names.get(-status, f'signal {-status}')})"
    else:
        how = f"ended with status {status}"
    return f"{how}: {last[:300]}" if last else how
