"""Each doubt: raised by what it is about, silent otherwise."""

from dataclasses import replace
from typing import Any

import pytest

from paretoken.core.doubt import DOUBTS
from paretoken.core.objective import Load
from paretoken.core.record import Record
from paretoken.machine.contention import Contention
from paretoken.verification.validity import (
    CHECKS,
    RunFacts,
    doubts_of,
    drift,
    lateness_p99_s,
    lengths_differ,
    slow_factor,
)
from tests.made import closed_loop, failed, record

OPEN = RunFacts(load=Load(rate_per_s=10.0))
CLOSED = RunFacts(load=Load(concurrency=2))
QUIET = Contention(elapsed_s=60.0, load_average=0.5, steal_share=0.0, busy_cores=2.0)


def sound() -> list[Record]:
    """A run that nobody can object to: 2 slots, warm-up, 100 requests, usage as wanted, reads apart."""
    records = closed_loop(2, [0.5, 1.0, *[1.0] * 100], warmup=2)
    return [replace(r, wanted_output_tokens=11) for r in records]


def names(records: list[Record], facts: RunFacts = CLOSED) -> set[str]:
    return {doubt.name for doubt in doubts_of(records, facts)}


def seen(records: list[Record], name: str, facts: RunFacts = CLOSED) -> str:
    return next(doubt.seen for doubt in doubts_of(records, facts) if doubt.name == name)


def with_reply(records: list[Record], **changes: Any) -> list[Record]:
    return [replace(r, reply=replace(r.reply, **changes)) for r in records]


def test_a_sound_run_raises_no_doubt() -> None:
    facts = replace(CLOSED, cores=2, engine_threads=2, client_cpu_share=0.1, contention=QUIET, own_cpu_s=118.0)
    assert names(sound(), replace(facts, clock_step_s=0.0)) == set()


def test_no_records_raise_no_error() -> None:
    assert names([]) == {"too_few_requests"}


def test_every_check_is_a_kind_of_doubt() -> None:
    assert set(CHECKS) <= set(DOUBTS)


def test_late_sends_are_flagged_and_forbid_a_verdict_where_they_are_part_of_the_wait() -> None:
    late = [replace(r, started_at=r.due_at + 0.02) for r in sound()]
    flagged = "102 of 102 requests left more than 10 ms late (p99 20 ms)"
    assert seen(late, "client_could_not_keep_schedule", OPEN) == flagged
    assert seen(late, "client_could_not_keep_schedule") == flagged
    assert not DOUBTS["client_could_not_keep_schedule"].fatal
    assert "client_saturated" in names(late)
    two = [replace(r, started_at=r.due_at + 0.02) if i < 2 else r for i, r in enumerate(sound())]
    assert "client_could_not_keep_schedule" in names(two)
    assert "client_saturated" not in names(two)
    assert lateness_p99_s(late) == pytest.approx(0.02)
    assert lateness_p99_s([record(started_at=None)]) is None


def test_a_few_late_sends_are_no_lateness() -> None:
    records = [record(i, due_at=i * 0.1, started_at=i * 0.1 + (0.5 if i < 5 else 0.0)) for i in range(1000)]
    assert "client_could_not_keep_schedule" not in names(records, OPEN)


def test_the_clients_core() -> None:
    assert (
        seen(sound(), "client_saturated", replace(CLOSED, client_cpu_share=0.97)) == "the client used 97 % of its core"
    )
    assert "client_saturated" not in names(sound(), replace(CLOSED, client_cpu_share=0.5))


def test_late_start_counts_from_the_run_or_the_first_arrival() -> None:
    shifted = [record(i, due_at=20.0 + i) for i in range(30)]
    assert "late_start" in names(shifted)
    assert "late_start" not in names(shifted, OPEN)  # it was not due earlier
    held_up = [record(i, due_at=float(i), sent_at=max(20.0, i)) for i in range(30)]
    assert "late_start" in names(held_up, OPEN)
    assert "late_start" not in names([record(i, due_at=0.5 + i) for i in range(3)])


def test_coalesced_reads() -> None:
    together = with_reply(sound(), chunk_at=(1.0, 1.0, 1.0, 1.2))
    assert seen(together, "coalesced_reads").startswith("66.7 % of the chunks")
    assert "coalesced_reads" not in names(with_reply(sound(), chunk_at=(1.0,)))


@pytest.mark.parametrize("step", [0.002, -3.0])
def test_a_stepped_clock(step: float) -> None:
    assert "clock_stepped" in names(sound(), replace(CLOSED, clock_step_s=step))


def test_time_that_runs_backwards_is_a_stepped_clock() -> None:
    records = [*sound(), record(200, due_at=5.0, reply={"chunk_at": (4.0, 4.1)})]
    assert seen(records, "clock_stepped") == "time ran backwards within 1 of 103 requests"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"load_average": 4.2}, "load average 4.2 where our own work explains 3"),
        ({"steal_share": 0.1}, "10 % of the time was stolen"),
        ({"busy_cores": 2.9}, "others used 0.9 cores"),
    ],
)
def test_a_contended_host(changes: dict[str, float], text: str) -> None:
    facts = replace(CLOSED, cores=2, engine_threads=2, own_cpu_s=120.0, contention=replace(QUIET, **changes))
    assert text in seen(sound(), "host_contended", facts)


def test_what_the_system_does_not_tell_is_not_contention() -> None:
    silent = Contention(elapsed_s=60.0, load_average=None, steal_share=None, busy_cores=None)
    assert "host_contended" not in names(sound(), replace(CLOSED, contention=silent, own_cpu_s=1.0))


def test_a_collapsing_engine_shows_in_the_spread_of_tpot() -> None:
    records = closed_loop(1, [1.0] * 40 + [40.0] * 60)
    facts = RunFacts(load=Load(concurrency=1), engine_threads=2, cores=2)
    assert seen(records, "host_contended", facts) == "the median TPOT is 40.0 times its best decile"
    assert "host_contended" not in names(records, replace(facts, engine_threads=0))
    assert slow_factor([1.0] * 9) is None
    assert slow_factor([0.0] * 20) is None


def test_no_warm_up() -> None:
    assert "warm_up_missing" in names(closed_loop(2, [1.0] * 100))


def test_a_run_without_a_steady_part() -> None:
    assert seen(closed_loop(2, [1.0] * 100), "not_steady", RunFacts(load=Load(concurrency=200))).startswith(
        "fewer sessions than streams"
    )


def test_a_rate_that_changes_within_the_window() -> None:
    records = closed_loop(2, [1.0] * 100 + [2.0] * 50)
    assert "tokens came in the first half" in seen(records, "not_steady")
    assert "not_steady" not in names(closed_loop(8, [1.0] * 16), RunFacts(load=Load(concurrency=8)))


def test_wrong_lengths() -> None:
    short = with_reply(sound(), output_tokens=6)
    assert seen(short, "output_length_not_met") == (
        "answers had 6 tokens on average where 11 were wanted; 0 of 100 met it"
    )
    assert "output_length_not_met" not in names([replace(r, wanted_output_tokens=None) for r in short])
    prompts = with_reply(sound(), prompt_tokens=100)
    assert "input_length_off" in names(prompts, replace(CLOSED, wanted_input_tokens=128))
    assert "input_length_off" not in names(prompts, replace(CLOSED, wanted_input_tokens=95))


def test_few_requests_and_many_failures() -> None:
    few = sound()[:40]
    assert seen(few, "too_few_requests") == "n=38: the upper end of p95's interval needs 72"
    some = [*sound(), failed(900), failed(901, error="timeout"), record(902, outcome="cancelled")]
    assert seen(some, "failures_high") == "2 of 102 failed: http_status 1, timeout 1"
    assert "failures_high" not in names([*sound(), failed(900)])


def test_usage_missing() -> None:
    assert seen(with_reply(sound(), output_tokens=None), "usage_missing") == "no token count in 100 of 100 requests"


def test_a_prompt_cache_beyond_the_declared_prefix() -> None:
    cached = with_reply(sound(), cached_tokens=200)
    assert "prompt_cache_suspected" in names(cached, replace(CLOSED, shared_prefix_tokens=128))
    assert "prompt_cache_suspected" not in names(cached, replace(CLOSED, shared_prefix_tokens=180))
    assert "prompt_cache_suspected" not in names([replace(r, turn=1) for r in cached])


@pytest.mark.parametrize(
    ("timings", "name"),
    [
        ({"prompt_ms": 600.0, "predicted_ms": 600.0}, "server_timing_inconsistent"),
        ({"total_duration": 2e9}, "server_timing_inconsistent"),
        ({"load_duration": 5e8}, "model_load_in_ttft"),
    ],
)
def test_what_the_server_says_of_its_time(timings: dict[str, float], name: str) -> None:
    assert name in names(with_reply(sound(), server_timings=timings))
    scaled = {key: value * 0.1 for key, value in timings.items()}
    assert name not in names(with_reply(sound(), server_timings=scaled))


def test_a_restart_and_the_requests_own_warnings() -> None:
    warned = with_reply(sound(), warnings=("invalid_utf8", "usage_missing"))
    found = doubts_of(warned, replace(CLOSED, engine_restarted=True))
    # usage_missing is judged by its own check over all requests, and these have usage.
    assert [doubt.name for doubt in found] == ["invalid_utf8", "engine_restarted"]
    assert found[0].seen == "in 100 of 100 requests"


def test_unequal_work() -> None:
    assert lengths_differ(100.0, 104.0) is None
    assert lengths_differ(None, 104.0) is None
    doubt = lengths_differ(100.0, 94.0)
    assert doubt is not None and doubt.fatal


def test_drift_of_blocks() -> None:
    rising = [100 * 1.02**i for i in range(6)]
    doubt = drift(rising)
    assert doubt is not None and "6 blocks" in doubt.seen
    assert drift([100, 103, 98, 101, 99, 102]) is None
    assert drift([100, 120]) is None
    assert drift([100.0] * 6) is None
    assert drift([100.0, 0.0, 1.0, 2.0]) is None
