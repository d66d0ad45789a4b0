"""The parent of a run: writes the schedule, starts the child, watches, and reads its capture when it is over.

In: a schedule and a directory. Out: a LoadResult with a Record for every scheduled request, and raw facts about the run
that verification judges. Nothing is read while the run goes on but a line of progress a second. Ctrl-C cancels what is
in flight and keeps what there is; however this process ends, the child ends too.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

from paretoken.core.record import Record
from paretoken.errors import CaptureError, DiskError, EndpointError, writing
from paretoken.load.progress import DISK_STATUS, Progress, from_line
from paretoken.load.rest import WARM, give_word
from paretoken.load.schedule import Schedule
from paretoken.machine.contention import Contention, between, snapshot
from paretoken.records.capture import RAW_NAME, read_capture
from paretoken.records.read import read_run
from paretoken.records.secret import forget_key, without_key
from paretoken.records.store import RunDir
from paretoken.units import NS_PER_S

_FINISH_S = 10.0  # how long the child may take to finish its capture once it was told to stop
_SAID_BYTES = 2000


@dataclass(frozen=True, slots=True)
class LoadResult:
    records: tuple[Record, ...]
    scheduled: int  # requests in the schedule; more than records when a stated duration was over before they were due
    zero_ns: int  # the run's start, CLOCK_REALTIME
    wall_s: float
    clock: str  # kernel | user: where receive stamps come from
    clock_step_s: float | None  # how far the real clock was set during the run
    client_cpu_s: float | None  # of the child while it drove the load
    interrupted: bool
    died: str | None  # why the child ended before its work was done; requests without an end are then lost
    contention: Contention
    captured: Mapping[str, Any]  # what was kept of the bytes, for run.json
    facts: Mapping[str, Any]  # everything that the child said about the run

    @property
    def client_cpu_share(self) -> float | None:
        """Of one core: near 1, the client was the limit."""
        return None if self.client_cpu_s is None or self.wall_s <= 0 else self.client_cpu_s / self.wall_s

    @property
    def count(self) -> dict[str, int]:
        """Records by outcome, warm-up included."""
        return {name: sum(r.outcome == name for r in self.records) for name in ("ok", "failed", "cancelled", "lost")}


def run_load(
    schedule: Schedule,
    run_dir: Path,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    keep_text: bool = True,
    on_opening: Callable[[], None] | None = None,
    on_closing: Callable[[], None] | None = None,
) -> LoadResult:
    """Send the schedule, once, from a process of its own. Blocks until it is over.

    `keep_text=False` leaves no prompt and no answer in `run_dir`, however this process ends; the Records returned have
    their text all the same. `on_opening` is called just before the first measured request (before the first of all
    where the schedule does not rest after its warm-up), `on_closing` just after the last one ended. Raises
    EndpointError when nothing could be sent at all, CaptureError when `run_dir` holds a run already, DiskError when the
    run cannot be written; requests that fail are Records.
    """
    with writing(run_dir):
        run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    run = RunDir(run_dir)
    if run.capture_path.exists():
        raise CaptureError(f"{run_dir} already holds a run; give a directory of its own to each")
    plan = schedule.as_json()
    run.write_schedule(plan, keep_text=keep_text)
    with _files_of(run, plan, keep_text) as files:
        before = snapshot()
        if on_opening is not None and not schedule.rest_after_warmup:
            on_opening()
        interrupted, end = _drive(files, on_progress, on_opening if schedule.rest_after_warmup else None)
        contention = between(before, snapshot())
        if on_closing is not None:
            on_closing()
        if not files.raw.exists() or not files.raw.stat().st_size:
            raise EndpointError(end.words or "the load was interrupted before it began")
        key = os.environ.get(schedule.api_key_env or "", "").strip()
        forget_key(files.raw, key)
        if end.disk_full:
            raise DiskError(str(end.words).replace(str(files.raw), str(run_dir / RAW_NAME)))
        reading = read_run(plan, read_capture(files.raw), schedule.protocol)
        records = tuple(without_key(record, key) for record in reading.records)
        captured = run.close(list(records), keep_text=keep_text, raw=files.raw)
    stamp = reading.stamp
    if stamp.zero_ns is None:
        raise CaptureError(f"the capture in {run_dir} does not say when its run began; repeat the run")
    cpu_s = stamp.facts.get("cpu_s")
    return LoadResult(
        records=records,
        scheduled=len(schedule.requests),
        zero_ns=stamp.zero_ns,
        wall_s=contention.elapsed_s if stamp.ended_ns is None else (stamp.ended_ns - stamp.zero_ns) / NS_PER_S,
        clock=stamp.clock,
        clock_step_s=stamp.clock_step_s,
        client_cpu_s=float(cpu_s) if isinstance(cpu_s, int | float) else None,
        interrupted=interrupted or stamp.facts.get("interrupted") is True,
        died=end.words,
        contention=contention,
        captured=captured,
        facts=stamp.facts,
    )


@dataclass(frozen=True, slots=True)
class _Files:
    """What the child reads and writes."""

    schedule: Path
    raw: Path
    descriptors: tuple[int, ...] = ()  # behind these paths


@contextlib.contextmanager
def _files_of(run: RunDir, plan: dict[str, Any], keep_text: bool) -> Iterator[_Files]:
    """The run's own files. Where no text is to stay they are files without a name: those vanish with the processes that
    have them open, even when these are killed."""
    if keep_text:
        yield _Files(run.schedule_path, run.path / RAW_NAME)
        return
    with contextlib.ExitStack() as opened:
        with writing(run.path):
            schedule, raw = (opened.enter_context(tempfile.TemporaryFile(dir=run.path)) for _ in range(2))
            schedule.write(msgspec.json.encode(plan))
            schedule.flush()
        descriptors = (schedule.fileno(), raw.fileno())
        yield _Files(Path(f"/dev/fd/{descriptors[0]}"), Path(f"/dev/fd/{descriptors[1]}"), descriptors)


@dataclass(frozen=True, slots=True)
class _End:
    """`words`: why the child ended before its work was done, if it did."""

    words: str | None = None
    disk_full: bool = False


def _drive(
    files: _Files, on_progress: Callable[[Progress], None] | None, on_rest: Callable[[], None] | None
) -> tuple[bool, _End]:
    """Run the child to its end → (whether we were interrupted, how it ended)."""
    interrupted = False
    with _words_file() as said:
        # -P: a file of the user's directory must not stand in for a module. A group of its own: Ctrl-C is ours alone.
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "paretoken.load.child", str(files.schedule), str(files.raw)],
            pass_fds=files.descriptors,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            process_group=0,
        )
        assert child.stdin is not None and child.stdout is not None
        with child.stdin, child.stdout:
            try:
                for line in child.stdout:
                    if line == WARM:
                        heard_s = time.monotonic()
                        if on_rest is not None:
                            on_rest()
                        give_word(child.stdin, heard_s)
                        continue
                    progress = from_line(line)
                    if progress is not None and on_progress is not None:
                        on_progress(progress)
            except KeyboardInterrupt:
                interrupted = True
            finally:
                child.stdin.close()  # for a child that goes on, the word to stop
                _reap(child)
        return interrupted, _end_of(child.returncode, said)


def _words_file() -> IO[bytes]:
    with writing(Path(os.environ.get("TMPDIR", "/tmp")), "set TMPDIR to another folder"):
        return tempfile.TemporaryFile()


def _reap(child: "subprocess.Popen[bytes]") -> None:
    try:
        child.wait(_FINISH_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    except KeyboardInterrupt:  # a second one: no patience left
        child.kill()
        child.wait()
        raise


def _end_of(status: int, said: IO[bytes]) -> _End:
    """With the child's own last words, if it did not end well."""
    if status == 0:
        return _End()
    said.seek(0)
    words = said.read()[-_SAID_BYTES:].decode(errors="replace").strip().splitlines()
    last = words[-1] if words else ""
    if status in (1, DISK_STATUS) and last:
        return _End(last, status == DISK_STATUS)
    return _End(f"the load process ended with status {status}: {last or 'no word'}")
