"""The steady window and the rates inside it, on runs whose answer is known."""

import numpy as np
import pytest

from paretoken.core.objective import Load
from paretoken.core.record import Record
from paretoken.metrics.throughput import (
    CLOSED,
    OPEN,
    WHOLE,
    Window,
    arrivals_of,
    block_edges,
    full_window_req_s,
    rate,
    req_s,
    steady_window,
    sustained_req_s,
    tokens_in_blocks,
)
from tests.made import closed_loop, failed, record


def window_of(records: list[Record], load: Load) -> Window:
    found = steady_window(records, load)
    assert found is not None
    return found


def test_closed_loop_from_all_slots_busy_to_the_first_idle_slot() -> None:
    # Two slots: slot A 0-3, 3-6, 6-9; slot B 0-4, 4-8, then nothing is left at 8.
    window = window_of(closed_loop(2, [3, 4, 3, 4, 3]), Load(concurrency=2))
    assert (window.start_s, window.end_s, window.method, window.steady) == (0.0, 8.0, CLOSED, True)


def test_the_window_waits_for_the_last_warm_up() -> None:
    # Slot A: warm-up 0-1, measured from 1; slot B: warm-up 0-5.
    records = closed_loop(2, [1, 5, 2, 2, 2, 2, 2, 2], warmup=2)
    assert window_of(records, Load(concurrency=2)).start_s == 5.0


def test_a_session_keeps_its_slot_until_its_last_turn() -> None:
    records = [
        record(0, session=0, turn=0, due_at=0, ttft_s=1, tokens=1),
        record(1, session=1, turn=0, due_at=0, ttft_s=2, tokens=1),
        record(2, session=0, turn=1, due_at=1, ttft_s=3, tokens=1),
        record(3, session=2, turn=0, due_at=2, ttft_s=3, tokens=1),
    ]
    # Session 2 was taken at 2; the next session to end is 0, with its second turn, at 4.
    assert window_of(records, Load(concurrency=2)).end_s == 4.0


def test_a_failed_request_does_not_stop_the_window() -> None:
    records = closed_loop(2, [1.0] * 10)
    records[4] = failed(4, due_at=records[4].due_at)
    window = window_of(records, Load(concurrency=2))
    assert window.end_s == pytest.approx(5.0)


def test_open_loop_from_the_first_end_to_the_last_arrival() -> None:
    records = [record(i, due_at=float(i), ttft_s=0.5, tokens=1) for i in range(10)]
    window = window_of(records, Load(rate_per_s=1.0))
    assert (window.start_s, window.end_s, window.method) == (0.5, 9.0, OPEN)


@pytest.mark.parametrize(
    ("records", "load", "why"),
    [
        (closed_loop(1, [1.0] * 3), Load(concurrency=8), "fewer sessions than streams"),
        ([record(0, ttft_s=1.0), record(1, ttft_s=2.0)], Load(rate_per_s=1.0), "the load was never steady"),
        (closed_loop(2, [1.0, 2.0]), Load(concurrency=2), "fewer than two requests ended while the load was steady"),
        ([failed(0)], Load(concurrency=1), "no session is known to have ended"),
    ],
)
def test_without_a_steady_part_the_whole_run_serves_and_says_so(records: list[Record], load: Load, why: str) -> None:
    window = window_of(records, load)
    assert (window.method, window.steady, window.why) == (WHOLE, False, why)


def test_nothing_sent_has_no_window() -> None:
    assert steady_window([], Load(concurrency=1)) is None
    assert steady_window([record(0, outcome="lost", started_at=None)], Load(concurrency=1)) is None


def test_tokens_are_where_their_chunks_are() -> None:
    known = record(0, reply={"chunk_at": (1.0, 2.0, 3.0), "chunk_tokens": (2, 1, 4), "output_tokens": 7})
    found = arrivals_of(known)
    assert found is not None and found[1].tolist() == [2, 1, 4]
    spread = arrivals_of(record(0, reply={"chunk_at": (1.0, 2.0, 3.0), "output_tokens": 7}))
    assert spread is not None and spread[1].tolist() == [1, 3, 3]
    single = arrivals_of(record(0, reply={"chunk_at": (1.0,), "output_tokens": 7}))
    assert single is not None and single[1].tolist() == [7]
    assert arrivals_of(record(0, reply={"output_tokens": None})) is None
    assert arrivals_of(failed(0)) is None


def test_a_request_across_the_edge_gives_the_part_inside() -> None:
    crossing = record(0, ttft_s=1.0, tpot_s=1.0, tokens=10)  # chunks at 1, 2 … 10
    totals, uncounted = tokens_in_blocks([crossing], np.array([0.0, 4.5, 8.5]))
    assert totals.tolist() == [4, 4]
    assert uncounted == 0


def test_failed_and_warm_up_tokens_do_not_count_but_those_cut_off_by_the_end_do() -> None:
    chunks = {"chunk_at": (1.0, 2.0), "chunk_tokens": (1, 1)}
    records = [
        record(0, warmup=True),
        failed(1, reply=chunks),
        record(2, outcome="cancelled", reply=chunks),
        record(3, outcome="cancelled", reply={"chunk_at": (1.0, 2.0)}),
    ]
    totals, uncounted = tokens_in_blocks(records, np.array([0.0, 5.0]))
    assert totals.tolist() == [2]
    assert uncounted == 1


def test_what_the_end_cut_off_counts_by_its_chunks() -> None:
    """The server counts at an answer's end; whole answers say how many tokens a chunk of theirs had."""
    cut = record(1, outcome="cancelled", reply={"chunk_at": (1.0, 2.0, 3.0)})
    whole = record(0, reply={"chunk_at": (1.0, 2.0), "output_tokens": 4})
    totals, uncounted = tokens_in_blocks([whole, cut], np.array([0.0, 5.0]))
    assert totals.tolist() == [4 + 3 * 2]
    assert uncounted == 0


def test_the_rate_of_a_steady_loop_is_its_true_rate() -> None:
    """Four slots, 1 s and 11 tokens a request: 44 tok/s, whatever the run's ends look like."""
    offsets = [0.25, 0.5, 0.75, 1.0]
    records = closed_loop(4, [*offsets, *[1.0] * 196], warmup=4)
    load = Load(concurrency=4)
    window = window_of(records, load)
    edges = block_edges(records, window)
    totals, uncounted = tokens_in_blocks(records, edges)
    found = rate(totals, window, uncounted, 196, 0, "usage")
    assert found.value == pytest.approx(44, rel=0.01)
    assert found.ci95 is not None and found.ci95[0] is not None and found.ci95[1] is not None
    assert found.ci95[0] <= 44 <= found.ci95[1] + 0.5
    requests = req_s(records, window, edges, 0)
    assert requests.value == pytest.approx(4, rel=0.02)


def test_answers_without_a_count_make_a_lower_bound_or_no_rate() -> None:
    window = Window(0.0, 10.0, CLOSED, True)
    some = rate(np.array([100.0]), window, 1, 100, 0, "usage")
    assert some.value == 10.0
    assert some.reasons["value"] == "a lower bound: 1 of 100 answers came without usage"
    assert rate(np.array([100.0]), window, 2, 100, 0, "usage").value is None
    assert rate(np.array([100.0]), Window(1.0, 1.0, WHOLE, False), 0, 1, 0, "usage").value is None


def test_a_short_window_has_no_interval() -> None:
    found = rate(np.array([10.0, 10.0]), Window(0.0, 2.0, CLOSED, True), 0, 4, 0, "usage")
    assert found.ci95 is None
    assert found.reasons["ci95"] == "the window holds 2 times a typical answer; an interval needs 5"


def test_request_rates_that_cannot_be() -> None:
    window = Window(0.0, 10.0, WHOLE, False)
    edges = np.array([0.0, 10.0])
    assert sustained_req_s([1.0]) is None and sustained_req_s([1.0, 1.0]) is None
    assert req_s([failed(0)], window, edges, 0).value == 0.0
    assert req_s([record(0)], window, edges, 0).reasons["value"].startswith("n=1")
    assert full_window_req_s([failed(0)]).value == 0.0
    assert full_window_req_s([record(0, ttft_s=0.0, tokens=1)]).value is None


def test_one_wave_of_answers_that_end_together_has_no_sustained_rate() -> None:
    """Eight streams, eight equal requests: all end within 10 ms after two seconds, which are not 800 a second."""
    records = closed_loop(8, [2.0 + 0.001 * k for k in range(8)])
    load = Load(concurrency=8)
    window = window_of(records, load)
    found = req_s(records, window, block_edges(records, window), 0)
    assert found.value is None
    assert found.reasons["value"].endswith("one wave, not a rate")
    assert full_window_req_s(records).value == pytest.approx(4, rel=0.01)
