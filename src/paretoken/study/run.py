"""One run: one candidate (or endpoint) under one load, once; its records, its doubts, all of it on disk.

Enters a running endpoint, a workload and a load. Leaves a Run. Nothing else of ours works while it goes on (decision
rule 3): reading the capture, judging and writing happen after the child has ended.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paretoken.arrivals.base import Arrivals
from paretoken.arrivals.closed import Closed
from paretoken.arrivals.poisson import Poisson
from paretoken.core.candidate import Candidate
from paretoken.core.doubt import Doubt
from paretoken.core.objective import Load
from paretoken.core.record import Record
from paretoken.core.request import Workload
from paretoken.engines.base import Running
from paretoken.engines.replicas import launch_candidate
from paretoken.errors import DiskError
from paretoken.load.progress import Progress
from paretoken.load.run import run_load
from paretoken.load.schedule import Timeouts, schedule_of
from paretoken.machine.processes import cpu_seconds, memory_bytes
from paretoken.records.store import RunDir
from paretoken.study.bench import Bench
from paretoken.study.watch import Seen, Watch
from paretoken.units import show_duration
from paretoken.verification.instrument import Instrument, instrument_of
from paretoken.verification.validity import RunFacts, doubts_of, lateness_p99_s


@dataclass(frozen=True, slots=True)
class Ask:
    """What a run sends where, beside the workload."""

    load: Load
    extra: Mapping[str, Any] | None = None  # the engine's own switches, in every body
    api_key_env: str | None = None
    timeouts: Timeouts | None = None
    duration_s: float | None = None
    grace_s: float = 0.0
    keep_text: bool = True
    seed: int = 0
    watch: bool = False  # look at the server's own metrics and at this machine, before and after what is measured

    @property
    def arrivals(self) -> Arrivals:
        if self.load.concurrency is not None:
            return Closed(self.load.concurrency)
        assert self.load.rate_per_s is not None
        return Poisson(self.load.rate_per_s, self.seed)


@dataclass(frozen=True, slots=True)
class Run:
    id: str
    records: tuple[Record, ...]
    doubts: tuple[Doubt, ...]
    clock: str  # kernel | user
    engine_args: Mapping[str, Any]
    load_s: float | None
    interrupted: bool
    died: str | None = None  # why the load process ended early, if it did
    memory_bytes: int | None = None  # of all engine processes at the end of the load; None where /proc does not tell
    seen: Seen | None = None  # where it was watched
    instrument: Instrument | None = None

    @property
    def failed_share(self) -> float:
        measured = [record for record in self.records if not record.warmup]
        return sum(record.outcome != "ok" for record in measured) / len(measured) if measured else 1.0


def _engine_cpu_s(running: Running) -> float | None:
    times = [cpu_seconds(part.pid) for part in running.parts]
    return None if any(time is None for time in times) else sum(time or 0.0 for time in times)


def _memory_bytes(running: Running) -> int | None:
    """What the engine's processes hold, shared pages counted once over all of them (PSS)."""
    sizes = [memory_bytes(part.pid) for part in running.parts]
    return None if any(size is None for size in sizes) else sum(size or 0 for size in sizes)


def run_on(bench: Bench, running: Running, workload: Workload, ask: Ask, facts: Mapping[str, Any]) -> Run:
    """Runs the workload against what runs there. `facts` go into run.json beside what the run itself knows.

    Raises EngineError when an engine of ours died, DiskError when the run cannot be written; a failing request is a
    record.
    """
    folder = bench.store.new_run()
    try:
        return _run_in(folder, bench, running, workload, ask, facts)
    except DiskError as error:
        if not folder.capture_path.exists():
            raise
        raise DiskError(f"{error}; what was captured is kept: paretoken replay {folder.id}") from error


def _run_in(
    folder: RunDir, bench: Bench, running: Running, workload: Workload, ask: Ask, facts: Mapping[str, Any]
) -> Run:
    watch = Watch(running, ask.api_key_env) if ask.watch else None
    schedule = schedule_of(
        workload,
        ask.arrivals,
        url=running.base_url,
        replica_urls=[part.base_url for part in running.parts[1:]],
        model=running.model_name,
        protocol=running.protocol,
        extra=ask.extra,
        api_key_env=ask.api_key_env,
        timeouts=ask.timeouts,
        duration_s=ask.duration_s,
        grace_s=ask.grace_s,
        rest_after_warmup=watch is not None and watch.reads_metrics,
    )
    engine_before = _engine_cpu_s(running)
    result = run_load(
        schedule,
        folder.path,
        on_progress=lambda progress: bench.talk.progress(_progress_text(progress)),
        keep_text=ask.keep_text,
        on_opening=None if watch is None else watch.opening,
        on_closing=None if watch is None else watch.closing,
    )
    seen = None if watch is None else watch.seen(result)
    engine_s = _used_s(engine_before, _engine_cpu_s(running), result.client_cpu_s)
    memory = _memory_bytes(running)
    bench.talk.progress("")
    threads = running.engine_args.get("threads")
    doubts = doubts_of(
        result.records,
        RunFacts(
            load=ask.load,
            shared_prefix_tokens=workload.shared_prefix_tokens,
            cores=bench.machine["logical_cores"],
            engine_threads=threads * len(running.parts) if isinstance(threads, int) and running.pid is not None else 0,
            client_cpu_share=result.client_cpu_share,
            own_cpu_s=engine_s,
            contention=result.contention,
            clock_step_s=result.clock_step_s,
            engine_restarted=seen is not None and seen.restarted,
            server_contradictions=() if seen is None else seen.contradictions,
        ),
    )
    instrument = instrument_of(
        result.records,
        clock=result.clock,
        facts=result.facts,
        cpu_share=result.client_cpu_share,
        lateness_p99_s=lateness_p99_s(result.records),
        limited=next((doubt.seen for doubt in doubts if doubt.name == "client_saturated"), None),
    )
    folder.write_run(
        {
            "schema": 1,
            **facts,
            "load": ask.load.as_json(),
            "workload": {"name": workload.name, "digest": workload.digest, "seed": workload.seed},
            "engine_args": dict(running.engine_args),
            "replicas": len(running.parts),
            "memory_bytes": memory,
            "clock": result.clock,
            "client": dict(result.facts),
            "instrument": instrument.as_json(),
            "machine": bench.machine,
            "contention": result.contention.as_json(),
            "doubts": [doubt.as_json() for doubt in doubts],
            "capture": dict(result.captured),
            **({} if seen is None else {"server": dict(seen.server), "host": dict(seen.host)}),
        }
    )
    if any(record.outcome != "ok" for record in result.records):
        # An engine that died took its requests with it: that is a trial's state, not a slow run. Connections break a
        # little before its death is known.
        running.check(within_s=1.0)
    return Run(
        folder.id,
        result.records,
        doubts,
        result.clock,
        dict(running.engine_args),
        running.load_s,
        result.interrupted,
        result.died,
        memory,
        seen,
        instrument,
    )


def _used_s(engine_before_s: float | None, engine_after_s: float | None, client_s: float | None) -> float | None:
    """CPU time of ours between two moments; None when a part of it is unknown."""
    if engine_before_s is None or engine_after_s is None or client_s is None:
        return None
    return engine_after_s - engine_before_s + client_s


def run_candidate(bench: Bench, candidate: Candidate, workload: Workload, load: Load) -> Run:
    """Starts the candidate's engine for this run alone, and stops it afterwards. Raises EngineError, UsageError."""
    settings = bench.settings(dict(candidate.engine_settings))
    bench.talk.progress(f"starting {candidate.label}")
    with launch_candidate(bench.engine, candidate.model.path, settings, candidate.replicas) as running:
        ask = Ask(load, extra=bench.engine.request_extra(settings), timeouts=Timeouts(first_byte_s=120, total_s=300))
        return run_on(bench, running, workload, ask, {"candidate": candidate.as_json()})


def _progress_text(progress: Progress) -> str:
    return (
        f"{show_duration(progress.elapsed_s)}: {progress.ended} of {progress.scheduled} answered, "
        f"{progress.in_flight} in flight"
    )
