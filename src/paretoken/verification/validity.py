"""Was the run sound: the doubts that its records and the facts around it raise.

Enter: records, and what the run knew of itself (RunFacts). Leaves: doubts, each saying what was seen with its number;
the threshold of each stands beside it. A check that lacks its input says nothing. It judges the run, never whether a
candidate helped (effect.py) or behaved (behaviour.py).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from paretoken.core.doubt import DOUBTS, Doubt
from paretoken.core.objective import Load
from paretoken.core.record import Record
from paretoken.machine.contention import Contention
from paretoken.metrics.latency import answered, measured, run_length_s
from paretoken.metrics.quantiles import needed_for_upper_end, percentile
from paretoken.metrics.student import two_sided_p
from paretoken.metrics.throughput import end_of, steady_window, tokens_in_blocks
from paretoken.units import show_duration, show_percent
from paretoken.verification import timings
from paretoken.verification.instrument import beyond_bound

LATE_S = 0.010  # lateness at p99: above, the load was not the one stated
LATE_SHARE = 0.01  # lateness over all answers' time: above, the client is part of what was measured
LATE_START_S = 1.0  # and more than LATE_START_SHARE of the run
LATE_START_SHARE = 0.05
CLIENT_CPU_SHARE = 0.95  # of the client's one core: above, nothing is left for what comes next
COALESCED_SHARE = 0.05  # of the chunks after the first, that came in one read with the chunk before
CLOCK_STEP_S = 0.001
LOAD_ABOVE = 0.5  # load average above what our own work explains
STEAL_SHARE = 0.02
OTHERS_CORES = 0.25  # cores in use beyond our own CPU time
SLOW_FACTOR = 2.0  # median TPOT over its best decile: spinning threads that wait for a core go far beyond
SETTLED_SHARE = 0.2  # token rate of the window's second half against its first
LENGTH_SHARE = 0.01  # realised mean output length against the wanted one
INPUT_SHARE = 0.1
UNEQUAL_SHARE = 0.05  # decision rule 2
FAILED_SHARE = 0.01
REQUEST_SHARE = 0.01  # requests that show something, before it is said of the run
CACHED_SLACK = 48  # tokens: a chat template's own text is shared by all prompts, and prefixes are counted roughly


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the records don't say. None: not known."""

    load: Load
    shared_prefix_tokens: int = 0  # as the workload declares it
    wanted_input_tokens: int | None = None
    cores: int | None = None  # logical cores of this machine
    engine_threads: int = 0  # of an engine on this machine; 0: elsewhere
    client_cpu_share: float | None = None  # of one core, over the run
    own_cpu_s: float | None = None  # CPU time of client and engine over the run
    contention: Contention | None = None
    clock_step_s: float | None = None  # by how much wall clock and monotonic clock drifted apart
    engine_restarted: bool = False
    server_contradictions: tuple[str, ...] = ()  # between what the server counted and what the records say


Check = Callable[[Sequence[Record], RunFacts], str | None]


def lateness_p99_s(records: Sequence[Record]) -> float | None:
    """Over all that started, warm-up and failures too: our own error needs no answer."""
    late = sorted(record.lateness_s for record in records if record.lateness_s is not None)
    return percentile(np.array(late), 0.99) if late else None


def _late(records: Sequence[Record]) -> str | None:
    p99 = lateness_p99_s(records)
    if p99 is None or p99 <= LATE_S:
        return None
    late = sum(r.lateness_s > LATE_S for r in records if r.lateness_s is not None)
    return f"{late} of {len(records)} requests left more than {show_duration(LATE_S)} late (p99 {show_duration(p99)})"


def client_could_not_keep_schedule(records: Sequence[Record], _: RunFacts) -> str | None:
    """A flag on the run, in a closed loop too (due is then the moment when the slot became free)."""
    return _late(records)


def client_saturated(records: Sequence[Record], facts: RunFacts) -> str | None:
    """Forbids a verdict: figures that may be off by more than the stated bound, sends so late that the waits measured
    are ours in part, or a core that is used up."""
    if (off := beyond_bound(records)) is not None:
        return off
    if facts.client_cpu_share is not None and facts.client_cpu_share > CLIENT_CPU_SHARE:
        return f"the client used {show_percent(facts.client_cpu_share)} of its core"
    pairs = [(r.lateness_s, r.e2e_s) for r in answered(records) if r.lateness_s is not None and r.e2e_s]
    late, whole = (sum(side) for side in zip(*pairs, strict=True)) if pairs else (0.0, 0.0)
    if late > LATE_SHARE * whole and _late(records):
        return f"requests left late by {show_percent(late / whole)} of the time that their answers took"
    return None


def late_start(records: Sequence[Record], facts: RunFacts) -> str | None:
    """From the run's start (closed loop) or the first arrival (open loop) to the first send."""
    starts = [record.started_at for record in records if record.started_at is not None]
    if not starts:
        return None
    expected = 0.0 if facts.load.concurrency is not None else min(record.due_at for record in records)
    delay = min(starts) - expected
    if delay > max(LATE_START_S, LATE_START_SHARE * run_length_s(records)):
        return f"the first request left {show_duration(delay)} after the run began"
    return None


def coalesced_reads(records: Sequence[Record], _: RunFacts) -> str | None:
    gaps = [gap for record in answered(records) for gap in record.reply.itl_s]
    together = sum(gap == 0 for gap in gaps)
    if gaps and together > COALESCED_SHARE * len(gaps):
        return f"{show_percent(together / len(gaps))} of the chunks came in one read with the chunk before"
    return None


def clock_stepped(records: Sequence[Record], facts: RunFacts) -> str | None:
    if facts.clock_step_s is not None and abs(facts.clock_step_s) > CLOCK_STEP_S:
        return f"wall clock and monotonic clock drifted apart by {show_duration(abs(facts.clock_step_s))}"
    backwards = sum(_goes_backwards(record) for record in records)
    return f"time ran backwards within {backwards} of {len(records)} requests" if backwards else None


def _goes_backwards(record: Record) -> bool:
    reply = record.reply
    moments = [record.sent_at, *reply.chunk_at, end_of(record)]
    known = [moment for moment in moments if moment is not None]
    return any(later < earlier - CLOCK_STEP_S for earlier, later in pairwise(known))


def host_contended(records: Sequence[Record], facts: RunFacts) -> str | None:
    """The load average counts ours too: the engine's threads and the client. A spread of TPOT says that something
    slowed the engine, whoever it was."""
    seen = facts.contention
    expected = max(facts.cores or 1, facts.engine_threads + 1)
    found = []
    if seen is not None and seen.load_average is not None and seen.load_average > expected + LOAD_ABOVE:
        found.append(f"load average {seen.load_average:.1f} where our own work explains {expected}")
    if seen is not None and seen.steal_share is not None and seen.steal_share > STEAL_SHARE:
        found.append(f"{show_percent(seen.steal_share)} of the time was stolen by other machines on this host")
    if seen is not None and seen.busy_cores is not None and facts.own_cpu_s is not None and seen.elapsed_s > 0:
        others = seen.busy_cores - facts.own_cpu_s / seen.elapsed_s
        if others > OTHERS_CORES:
            found.append(f"others used {others:.1f} cores")
    spread = slow_factor([record.tpot_s for record in answered(records)])
    if facts.engine_threads and spread is not None and spread > SLOW_FACTOR:
        found.append(f"the median TPOT is {spread:.1f} times its best decile")
    return "; ".join(found) or None


def slow_factor(values: Sequence[float | None]) -> float | None:
    """Median over best decile of spans; None below ten."""
    known = np.array(sorted(value for value in values if value is not None))
    if len(known) < 10:
        return None
    best = percentile(known, 0.1)
    return percentile(known, 0.5) / best if best > 0 else None


def warm_up_missing(records: Sequence[Record], _: RunFacts) -> str | None:
    if not records or any(record.warmup for record in records):
        return None
    return "no request was a warm-up"


def not_steady(records: Sequence[Record], facts: RunFacts) -> str | None:
    if not answered(records):
        return None
    window = steady_window(records, facts.load)
    if window is None or not window.steady:
        return None if window is None else f"{window.why}: rates are over the whole run"
    spans = sorted(r.e2e_s for r in answered(records) if r.e2e_s is not None)
    # Halves of a window that holds few answers differ by where the waves of requests fall.
    if not spans or window.length_s < 8 * spans[len(spans) // 2]:
        return None
    halves, _ = tokens_in_blocks(records, np.linspace(window.start_s, window.end_s, 3))
    if halves[0] <= 0 or abs(halves[1] / halves[0] - 1) > SETTLED_SHARE:
        return f"{halves[0]:.0f} tokens came in the first half of the steady window, {halves[1]:.0f} in the second"
    return None


def output_length_not_met(records: Sequence[Record], _: RunFacts) -> str | None:
    pairs = [
        (r.reply.output_tokens, r.wanted_output_tokens)
        for r in answered(records)
        if r.reply.output_tokens is not None and r.wanted_output_tokens
    ]
    if not pairs:
        return None
    got, wanted = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
    if abs(got / wanted - 1) <= LENGTH_SHARE:
        return None
    met = sum(a == b for a, b in pairs)
    return f"answers had {got:g} tokens on average where {wanted:g} were wanted; {met} of {len(pairs)} met it"


def input_length_off(records: Sequence[Record], facts: RunFacts) -> str | None:
    known = [r.reply.prompt_tokens for r in answered(records) if r.reply.prompt_tokens is not None]
    if not known or not facts.wanted_input_tokens:
        return None
    got = sum(known) / len(known)
    if abs(got / facts.wanted_input_tokens - 1) <= INPUT_SHARE:
        return None
    return f"prompts had {got:g} tokens on average where {facts.wanted_input_tokens} were stated"


def too_few_requests(records: Sequence[Record], _: RunFacts) -> str | None:
    n, needed = len(answered(records)), needed_for_upper_end(0.95)
    return f"n={n}: the upper end of p95's interval needs {needed}" if n < needed else None


def failures_high(records: Sequence[Record], _: RunFacts) -> str | None:
    attempted = [record for record in measured(records) if record.outcome != "cancelled"]
    failed = [record for record in attempted if record.outcome != "ok"]
    if len(failed) <= FAILED_SHARE * len(attempted):
        return None
    kinds = Counter(record.reply.error or record.outcome for record in failed).most_common()
    return f"{len(failed)} of {len(attempted)} failed: {', '.join(f'{kind} {count}' for kind, count in kinds)}"


def _of_requests(records: Sequence[Record], shows: Callable[[Record], bool], what: str) -> str | None:
    """Said of the run when more than REQUEST_SHARE of the answered requests show it."""
    ok = answered(records)
    found = sum(shows(record) for record in ok)
    return f"{what} in {found} of {len(ok)} requests" if found > REQUEST_SHARE * len(ok) else None


def usage_missing(records: Sequence[Record], _: RunFacts) -> str | None:
    return _of_requests(records, lambda r: r.reply.output_tokens is None, "no token count")


def prompt_cache_suspected(records: Sequence[Record], facts: RunFacts) -> str | None:
    """First turns only: a later turn may reuse its own history."""
    most = facts.shared_prefix_tokens + CACHED_SLACK
    firsts = [record for record in records if record.turn == 0]
    what = f"more than {most} prompt tokens came from a cache ({facts.shared_prefix_tokens} are declared as shared)"
    return _of_requests(firsts, lambda r: (r.reply.cached_tokens or 0) > most, what)


def server_timing_inconsistent(records: Sequence[Record], facts: RunFacts) -> str | None:
    worked = _of_requests(records, timings.contradicts, "the server says that it worked for longer than we waited")
    return "; ".join([*([worked] if worked else []), *facts.server_contradictions]) or None


def model_load_in_ttft(records: Sequence[Record], _: RunFacts) -> str | None:
    return _of_requests(records, timings.loaded_model, "the server loaded its model")


def engine_restarted(_: Sequence[Record], facts: RunFacts) -> str | None:
    return "the engine's process was replaced during the run" if facts.engine_restarted else None


CHECKS: dict[str, Check] = {
    "client_could_not_keep_schedule": client_could_not_keep_schedule,
    "late_start": late_start,
    "client_saturated": client_saturated,
    "coalesced_reads": coalesced_reads,
    "clock_stepped": clock_stepped,
    "host_contended": host_contended,
    "warm_up_missing": warm_up_missing,
    "not_steady": not_steady,
    "output_length_not_met": output_length_not_met,
    "input_length_off": input_length_off,
    "too_few_requests": too_few_requests,
    "failures_high": failures_high,
    "server_timing_inconsistent": server_timing_inconsistent,
    "prompt_cache_suspected": prompt_cache_suspected,
    "model_load_in_ttft": model_load_in_ttft,
    "usage_missing": usage_missing,
    "engine_restarted": engine_restarted,
}


def doubts_of(records: Sequence[Record], facts: RunFacts) -> tuple[Doubt, ...]:
    """All doubts of one run, in the order of core/doubt.py. What requests were warned of and no check covers is said
    with its count."""
    seen = {name: check(records, facts) for name, check in CHECKS.items()}
    ok = measured(records)
    warned = Counter(warning for record in ok for warning in record.reply.warnings)
    for name, count in warned.items():
        if name not in CHECKS:
            seen[name] = f"in {count} of {len(ok)} requests"
    return tuple(Doubt(name, text) for name in DOUBTS if (text := seen.get(name)) is not None)


def lengths_differ(mean_a: float | None, mean_b: float | None) -> Doubt | None:
    """Of two runs that are to be compared: mean realised output lengths more than 5 % apart are unequal work."""
    if mean_a is None or mean_b is None or mean_a <= 0 or abs(mean_b / mean_a - 1) <= UNEQUAL_SHARE:
        return None
    return Doubt("lengths_differ", f"answers had {mean_a:g} and {mean_b:g} tokens on average")


def drift(block_values: Sequence[float]) -> Doubt | None:
    """Of one side's blocks in order of time: a line through their logarithms rises or falls by more than 5 % over the
    run, beyond its 99 % interval. Interleaving cancels that in a ratio; the machine was still not the same throughout.
    """
    n = len(block_values)
    if n < 4 or min(block_values) <= 0:
        return None
    logs, at = np.log(np.array(block_values)), np.arange(n) - (n - 1) / 2
    slope = float((at * logs).sum() / (at**2).sum())
    rest = logs - logs.mean() - slope * at
    error = float(np.sqrt((rest**2).sum() / (n - 2) / (at**2).sum()))
    change = float(np.exp(slope * (n - 1)) - 1)
    if abs(change) <= 0.05 or (error > 0 and two_sided_p(slope / error, n - 2) > 0.01):
        return None
    return Doubt("drift", f"from the first to the last of {n} blocks it changed by {show_percent(change)}")
