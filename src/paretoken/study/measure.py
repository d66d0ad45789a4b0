"""Measure one endpoint or model under one load: the verb `measure`.

Enters an address or a model and a load; leaves a Measurement: figures with intervals, every request accounted for,
doubts, definitions, provenance. It compares with nothing and changes nothing.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from paretoken.core.candidate import Candidate, Model
from paretoken.core.doubt import Doubt
from paretoken.core.objective import Load
from paretoken.core.provenance import Provenance
from paretoken.core.request import Workload
from paretoken.engines.base import Running
from paretoken.errors import ParetokenError, UsageError
from paretoken.metrics.cost import Price
from paretoken.metrics.definitions import definitions_json
from paretoken.metrics.latency import measured, run_length_s
from paretoken.metrics.slo import Held, held, parse_slo, per_request
from paretoken.metrics.summary import Summary, summarise
from paretoken.models.find import resolve
from paretoken.study.bench import Bench
from paretoken.study.limits import computed_input_tok_s, machine_limits, utilisation
from paretoken.study.run import Ask, Run, run_on
from paretoken.study.talk import Talk
from paretoken.study.target import EMBEDDED_MODEL, is_url, key_variable, running_target
from paretoken.study.watch import Seen
from paretoken.verification.instrument import Instrument
from paretoken.version import __version__
from paretoken.workloads.chat import chat
from paretoken.workloads.synthetic import synthetic

DEFAULT_REQUESTS = 100
MOST_REQUESTS = 20_000  # bodies are finished before the run, so a run by duration needs an end of its own too
# How many a stream may be answered a second in a run that is given by its duration: faster endpoints use up what was
# prepared before its end, and the result says so.
REQUESTS_PER_STREAM_AND_S = 10
ENDED_EARLY_SHARE = 0.95  # of the stated duration; below, a run that had nothing more to send did not keep it
SHARES = ("mbu", "mfu", "mfu_prefill")


@dataclass(frozen=True, slots=True)
class Measurement:
    """`as_json` is the document of `paretoken measure --json`."""

    run_id: str
    summary: Summary
    utilisation: Mapping[str, Any]
    doubts: tuple[Doubt, ...]
    provenance: Provenance
    slo: tuple[Held, ...]  # what became of each stated limit
    interrupted: bool
    ended_early: str | None  # why a run by duration was shorter than stated
    seen: Seen | None = None  # what the server and this machine said of the measured part
    instrument: Instrument | None = None  # what ours said of itself
    died: str | None = None  # why the load process ended before its work was done

    @property
    def believed(self) -> bool:
        """Not interrupted, no doubt forbids the figures, and no request failed or vanished beyond a stray one."""
        names = {doubt.name for doubt in self.doubts}
        counts = self.summary.requests
        failed = "failures_high" in names or counts["lost"] or not counts["ok"]
        return not (self.interrupted or failed or any(doubt.fatal for doubt in self.doubts))

    def as_json(self) -> dict[str, Any]:
        found = self.summary.as_json()
        for name in SHARES:
            share, why = self.utilisation.get(name), self.utilisation["reasons"].get(name)
            reasons = {"ci95": "from the medians"} if share is not None else {"value": why}
            found["metrics"][name] = {"value": share, "ci95": None, "reasons": reasons}
        if self.ended_early is not None:
            found["metrics"]["goodput_req_s"]["reasons"]["duration"] = self.ended_early
        return {
            "schema": 1,
            "run": self.run_id,
            "interrupted": self.interrupted,
            "ended_early": self.ended_early,
            **found,
            "slo": [held.as_json() for held in self.slo],
            "instrument": None if self.instrument is None else self.instrument.as_json(),
            "died": self.died,
            "server": None if self.seen is None else dict(self.seen.server),
            "host": None if self.seen is None else dict(self.seen.host),
            "doubts": [doubt.as_json() for doubt in self.doubts],
            "definitions": definitions_json(),
            "provenance": self.provenance.as_json(),
        }


@dataclass(frozen=True, slots=True)
class Volume:
    """How much is asked of what length. Exactly one of `requests` and `duration_s` bounds a run."""

    requests: int | None = None
    duration_s: float | None = None
    output_tokens: int = 64
    input_tokens: int | None = None  # None: the chat workload; else synthetic prompts of about this length
    warmup: int | None = None  # None: one a stream

    def workload(self, load: Load, seed: int) -> Workload:
        """Raises UsageError for numbers that make no run."""
        if self.requests is not None and self.duration_s is not None:
            raise UsageError("give --requests or --duration, not both: one of them ends the run")
        warmup = (load.concurrency or 1) if self.warmup is None else self.warmup
        requests = self._requests(load)
        if self.input_tokens is not None:
            return synthetic(
                requests=requests,
                input_tokens=self.input_tokens,
                output_tokens=self.output_tokens,
                seed=seed,
                warmup=warmup,
            )
        return chat(requests=requests, output_tokens=self.output_tokens, seed=seed, warmup=warmup)

    def _requests(self, load: Load) -> int:
        if self.duration_s is None:
            return DEFAULT_REQUESTS if self.requests is None else self.requests
        if load.rate_per_s is not None:
            mean = load.rate_per_s * self.duration_s
            return min(MOST_REQUESTS, math.ceil(mean + 5 * math.sqrt(mean)) + 10)
        streams = load.concurrency or 1
        return min(MOST_REQUESTS, max(streams, math.ceil(self.duration_s * REQUESTS_PER_STREAM_AND_S * streams)))


def measure(
    target: str = EMBEDDED_MODEL,
    *,
    model: str | None = None,
    concurrency: int | None = None,
    rate_per_s: float | None = None,
    requests: int | None = None,
    duration_s: float | None = None,
    output_tokens: int = 64,
    input_tokens: int | None = None,
    warmup: int | None = None,
    protocol: str = "openai-chat-sse",
    api_key_env: str | None = None,
    engine: str = "llamacpp",
    settings: Mapping[str, Any] | None = None,
    slo: str | None = None,
    price: Price | None = None,
    keep_text: bool = True,
    seed: int = 0,
    home: Path = Path(".paretoken"),
    talk: Talk | None = None,
) -> Measurement:
    """Measure an endpoint (a URL) or a model on this machine.

    The load is a closed loop of `concurrency` streams (default 1) or Poisson arrivals at `rate_per_s`; the run ends
    after `requests` (default 100) or `duration_s` seconds. Times in the result are seconds, in its JSON milliseconds.
    A model runs with the engine's defaults and `settings` on top, its prompt cache off unless asked for. `slo` is
    limits such as "p95 ttft < 2s, p95 tpot < 100ms": goodput counts the requests that keep them.
    Raises EndpointError, EngineError, ModelError, UsageError; failing requests are records, not errors.
    """
    if concurrency is not None and rate_per_s is not None:
        raise UsageError("give --concurrency or --rate, not both: a closed loop has no rate of its own")
    if concurrency is not None and concurrency < 1:
        raise UsageError(f"a closed loop needs at least one stream, not {concurrency}")
    load = Load(rate_per_s=rate_per_s) if rate_per_s is not None else Load(concurrency=concurrency or 1)
    limits = parse_slo(slo) if slo is not None else ()
    volume = Volume(requests, duration_s, output_tokens, input_tokens, warmup)
    workload = volume.workload(load, seed)
    bench = Bench.at(home, engine, talk)
    key = key_variable(api_key_env) if is_url(target) else None
    settings = None if is_url(target) else {"prompt_cache": False, **(settings or {})}
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    with running_target(bench, target, model=model, protocol=protocol, api_key_env=key, settings=settings) as running:
        extra = {} if settings is None else bench.engine.request_extra(bench.settings(dict(settings)))
        ask = Ask(
            load,
            extra=extra,
            api_key_env=key,
            duration_s=duration_s,
            grace_s=30.0 if duration_s is not None else 0.0,
            keep_text=keep_text,
            seed=seed,
            watch=True,
        )
        facts = {
            "target": target if is_url(target) else running.model_name,
            "slo": slo,
            "price": None if price is None else price.as_json(),
        }
        run = run_on(bench, running, workload, ask, facts)
    early = _ended_early(run, len(workload.requests), duration_s)
    if early is not None:
        bench.talk.line(early)
    # A run that did not keep its duration is judged over the one it had.
    stated_s = None if early is not None or run.interrupted else duration_s
    instrument = run.instrument
    summary = summarise(
        run.records,
        load=load,
        slo=per_request(limits),
        duration_s=stated_s,
        price=price,
        error_bound_s=None if instrument is None else instrument.stamp_error_s,
        seed=seed,
    )
    if instrument is not None and instrument.limited is not None:
        summary = summary.without_headlines(f"the client was the limit: {instrument.limited}")
    provenance = _provenance(bench, running, run, workload, load, started_at, settings)
    if is_url(target):
        shares = _no_shares("known only for a model that runs here")
    else:
        shares = _shares(bench, resolve(target), run, summary, load)
    kept = held(limits, summary.as_json()["metrics"])
    return Measurement(
        run.id, summary, shares, run.doubts, provenance, kept, run.interrupted, early, run.seen, instrument, run.died
    )


def _ended_early(run: Run, prepared: int, duration_s: float | None) -> str | None:
    """A run by duration that had nothing more to send; its records are then all that were prepared."""
    if duration_s is None or run.interrupted or len(run.records) < prepared:
        return None
    rested = run.seen is not None and run.seen.rested
    length_s = run_length_s(measured(run.records) if rested else run.records)
    if length_s >= ENDED_EARLY_SHARE * duration_s:
        return None
    return (
        f"the run ended after {length_s:.1f} of {duration_s:g} s: all {prepared} prepared requests were sent "
        f"(at most {MOST_REQUESTS} a run, {REQUESTS_PER_STREAM_AND_S} a second and stream); ask for more output tokens"
    )


def _provenance(
    bench: Bench,
    running: Running,
    run: Run,
    workload: Workload,
    load: Load,
    started_at: str,
    settings: Mapping[str, Any] | None,
) -> Provenance:
    ours = settings is not None
    cached = "on" if ours and settings and settings.get("prompt_cache") else "off"
    return Provenance(
        tool_version=__version__,
        started_at=started_at,
        seed=workload.seed,
        hardware=bench.machine,
        engine=bench.engine.name if ours else "an endpoint that others run",
        engine_version=bench.engine.version().get("wheel") if ours else None,
        engine_args=dict(run.engine_args),
        model=running.model_name,
        load_mode=load.as_json()["mode"],
        warmup=sum(request.warmup for request in workload.requests),
        prompt_cache_policy=cached if ours else "the endpoint's own; prompts share only what the workload declares",
        clock=run.clock,
        extra={"workload": {"name": workload.name, "digest": workload.digest}, "load": load.as_json()},
    )


def _no_shares(why: str) -> dict[str, Any]:
    return {"reasons": dict.fromkeys(SHARES, why)}


def _shares(bench: Bench, model: Model, run: Run, summary: Summary, load: Load) -> dict[str, Any]:
    """MBU and MFU from the medians. A finished measurement is not lost because the machine's limits are unknown."""
    step = summary.distributions["tpot"].p50
    rate, total = (summary.scalars[name].value for name in ("output_tok_s", "total_tok_s"))
    if not step or not rate:
        return _no_shares("the median time per token or the output rate is not known")
    slots = int(run.engine_args.get("slots") or 1)
    streams = min(slots, load.concurrency or max(1, round(rate * step)))
    prompts = [(r.reply.prompt_tokens, r.reply.output_tokens or 0) for r in run.records if r.reply.prompt_tokens]
    prompt = sum(tokens for tokens, _ in prompts) / len(prompts) if prompts else 0.0
    answer = sum(tokens for _, tokens in prompts) / len(prompts) if prompts else 0.0
    bench.talk.progress("measuring this machine's limits")
    try:
        return utilisation(
            Candidate(model.name, bench.engine.name, model, dict(run.engine_args)),
            found=machine_limits(bench.machine),
            streams=streams,
            context_tokens=prompt + answer / 2,
            step_s=step,
            tok_s=rate,
            input_tok_s=computed_input_tok_s(
                run.records,
                output_tok_s=rate,
                total_tok_s=total,
                prompt_cache=run.engine_args.get("prompt_cache") is not False,
            ),
            prompt_tokens=prompt,
        )
    except (ParetokenError, OSError) as error:
        return _no_shares(str(error))
    finally:
        bench.talk.progress("")
