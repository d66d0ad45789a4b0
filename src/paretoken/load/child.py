"""The process that drives one run: `python -m paretoken.load.child SCHEDULE CAPTURE`.

In: the file SCHEDULE, and the key from the environment. Out: the file CAPTURE, and a line of progress a second on
stdout. Standard input is a pipe whose end means that the parent is gone; then, and on SIGINT and SIGTERM,
what is in flight is cancelled, the capture is finished, and the process ends. A byte on it is the word to go on after
the rest (load/rest.py). It judges nothing.
"""

import contextlib
import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from paretoken.errors import DiskError, ParetokenError
from paretoken.load.clock import RunClock
from paretoken.load.lines import lines_of
from paretoken.load.loop import Loop
from paretoken.load.progress import DISK_STATUS, Progress, to_line
from paretoken.load.rest import wait_for_word
from paretoken.load.schedule import Schedule, schedule_from_json
from paretoken.load.stamps import kernel_stamps
from paretoken.records.capture import CaptureWriter

_STDIN, _STDOUT = 0, 1
_PRIORITY = -10
_PR_SET_PDEATHSIG = 1
_LEAD_NS = 5_000_000  # before the run's start: what is left to prepare then must not make the first request late
_LEAD_NS_PER_REQUEST = 5_000


def main(arguments: list[str]) -> int:
    plan, capture = map(Path, arguments)
    _die_with_parent()
    try:
        with _stop_signals() as stopped:
            schedule = schedule_from_json(plan.read_bytes())
            _drive(schedule, capture, stopped)
    except ParetokenError as error:
        sys.stderr.write(f"{error}\n")
        return DISK_STATUS if isinstance(error, DiskError) else error.exit_code
    return 0


def _drive(schedule: Schedule, capture: Path, stopped: int) -> None:
    lines = lines_of(schedule)
    _raise_descriptor_limit()
    _go_first()
    os.set_blocking(_STDOUT, False)
    clock = RunClock()
    with kernel_stamps(), CaptureWriter(capture) as writer:

        def say(progress: Progress) -> None:
            writer.flush()  # so that a killed process loses a second at most
            # A parent that does not read, or is gone, must not hold up the run: the end of stdin says so as well.
            with contextlib.suppress(BlockingIOError, BrokenPipeError):
                os.write(_STDOUT, to_line(progress))

        def rest() -> bool:
            writer.flush()
            found = wait_for_word(_STDIN, stopped, _STDOUT, time.process_time() - busy_s)
            if found is not None:
                writer.append_run(clock.now_ns(), rest=msgspec.to_builtins(found))
            return found is not None

        gc.collect()
        gc.freeze()
        gc.disable()
        zero_ns = clock.now_ns() + _LEAD_NS + _LEAD_NS_PER_REQUEST * len(schedule.requests)
        writer.append_run(zero_ns, zero_ns=zero_ns, mono_zero_ns=clock.monotonic_ns(zero_ns), gc="off")
        loop = Loop(
            schedule,
            lines,
            writer,
            clock,
            zero_ns,
            interrupts=(_STDIN, stopped),
            on_progress=say,
            on_rest=rest,
        )
        busy_s = time.process_time()
        facts = loop.run()
        busy_s = time.process_time() - busy_s
        writer.append_run(facts.ended_ns, **msgspec.to_builtins(facts), cpu_s=busy_s)


@contextlib.contextmanager
def _stop_signals() -> Iterator[int]:
    """A descriptor that can be read once SIGINT or SIGTERM came: the selector wakes, and nothing is interrupted."""
    reading, writing = socket.socketpair()
    with reading, writing:
        writing.setblocking(False)
        signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        try:
            yield reading.fileno()
        finally:
            signal.set_wakeup_fd(-1)


def _die_with_parent() -> None:
    """On Linux the kernel tells us as well: the end of stdin would be missed while a copy of the pipe is open."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _go_first() -> None:
    """Where an engine's threads spin on all cores, a client of equal priority wakes milliseconds late and would stamp
    its own sends too late. It works for microseconds at a time. Not everybody may ask for this; then it stays as it is.
    """
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)


def _raise_descriptor_limit() -> None:
    """An open loop may need a connection for every request in flight."""
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            with contextlib.suppress(ValueError, OSError):  # macOS refuses "unlimited"; the limit then stays
                resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
