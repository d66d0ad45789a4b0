"""The parent of a run: writes the schedule, starts the child, watches, and reads its capture when it is over.

In: a schedule and a directory. Out: a LoadResult with a Record for every scheduled request, and raw facts about the run
that verification judges. Nothing is read while the run goes on but a line of progress a second. Ctrl-C cancels what is
in flight and keeps what there is; however this process ends, the child ends too.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from paretoken.core.record import Record
from paretoken.errors import CaptureError, EndpointError
from paretoken.load.progress import Progress, from_line
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
) -> LoadResult:
    """Send the schedule, once, from a process of its own. Blocks until it is over.

    `keep_text=False` leaves no prompt and no answer in `run_dir`; the Records returned have their text all the same.
    Raises EndpointError when nothing could be sent at all, CaptureError when `run_dir` holds a run already; requests
    that fail are Records.
    """
    run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    run = RunDir(run_dir)
    if run.capture_path.exists():
        raise CaptureError(f"{run_dir} already holds a run; give a directory of its own to each")
    plan = schedule.as_json()
    run.write_schedule(plan)
    before = snapshot()
    interrupted, died = _drive(run_dir, on_progress)
    contention = between(before, snapshot())
    if not (run_dir / RAW_NAME).exists():
        raise EndpointError(died or "the load was interrupted before it began")
    key = os.environ.get(schedule.api_key_env or "", "").strip()
    forget_key(run_dir / RAW_NAME, key)
    reading = read_run(plan, read_capture(run_dir / RAW_NAME), schedule.protocol)
    records = tuple(without_key(record, key) for record in reading.records)
    captured = run.close(list(records), keep_text=keep_text)
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
        died=died,
        contention=contention,
        captured=captured,
        facts=stamp.facts,
    )


def _drive(run_dir: Path, on_progress: Callable[[Progress], None] | None) -> tuple[bool, str | None]:
    """Run the child to its end → (whether we were interrupted, why it ended early if it did)."""
    interrupted = False
    with tempfile.TemporaryFile() as said:
        # -P: a file of the user's directory must not stand in for a module. A group of its own: Ctrl-C is ours alone.
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "paretoken.load.child", str(run_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            process_group=0,
        )
        assert child.stdin is not None and child.stdout is not None
        with child.stdin, child.stdout:
            try:
                for line in child.stdout:
                    progress = from_line(line)
                    if progress is not None and on_progress is not None:
                        on_progress(progress)
            except KeyboardInterrupt:
                interrupted = True
            finally:
                child.stdin.close()  # for a child that goes on, the word to stop
                _reap(child)
        return interrupted, _early_end(child.returncode, said)


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


def _early_end(status: int, said: IO[bytes]) -> str | None:
    """The child's own last words, if it did not end well."""
    if status == 0:
        return None
    said.seek(0)
    words = said.read()[-_SAID_BYTES:].decode(errors="replace").strip().splitlines()
    last = words[-1] if words else ""
    return last if status == 1 and last else f"the load process ended with status {status}: {last or 'no word'}"
