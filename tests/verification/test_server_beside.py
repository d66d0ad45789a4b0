"""The server's figures against ours: what can't both be true is said with its numbers, and nothing else."""

from dataclasses import replace

import pytest

from paretoken.core.record import Record
from paretoken.metrics.server_window import HistogramWindow, ServerWindow, Within
from paretoken.verification.server_beside import Beside, beside, by_answers
from paretoken.wire.server_metrics import DIALECTS
from tests.made import failed, record

RECORDS = [record(n, due_at=n, ttft_s=0.1, tpot_s=0.02, tokens=11) for n in range(10)]  # each 0.3 s


def window(
    *, requests: float | None = 10, tokens: float = 110, ttft: float = 0.095, e2e: float = 0.295, itl: float = 0.02
) -> ServerWindow:
    counters = {"output_tokens": tokens} | ({} if requests is None else {"requests": requests})
    count = 10 if requests is None else requests
    histograms = {
        "ttft": HistogramWindow(count, ttft * count),
        "e2e": HistogramWindow(count, e2e * count),
        "itl": HistogramWindow(100, itl * 100),
    }
    return ServerWindow(DIALECTS[0], counters, {}, histograms, {}, None, 0)


def row(found: Beside, name: str) -> tuple[float, float | None, bool]:
    return next(
        (round(r.server, 9), None if r.ours is None else round(r.ours, 9), r.compared)
        for r in found.rows
        if r.name == name
    )


def test_figures_that_agree_contradict_nothing() -> None:
    found = beside(window(), RECORDS)
    assert found.contradictions == ()
    assert row(found, "requests") == (10, 10, True)
    assert row(found, "output_tokens") == (110, 110, True)
    server, ours, compared = row(found, "ttft")
    assert (server, ours, compared) == (0.095, 0.1, True)
    assert {"name": "ttft_ms", "server": 95.0, "ours": 100.0, "compared": True} in found.as_json()


def test_a_server_may_have_been_faster_than_we_saw() -> None:
    assert beside(window(ttft=0.001, e2e=0.01, itl=0.001), RECORDS).contradictions == ()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"ttft": 0.15}, "the server's mean ttft is 150 ms where we saw 100 ms"),
        ({"e2e": 0.4}, "the server's mean e2e is 400 ms where we saw 300 ms"),
        ({"itl": 0.025}, "the server's mean itl is 25 ms where we saw 20 ms"),
        ({"tokens": 112}, "the server counted 112 output tokens where the answers said 110"),
        ({"tokens": 100}, "the server counted 100 output tokens where the answers said 110"),
        ({"requests": 12}, "the server answered 12 requests while 10 of ours ran: others used it too"),
        ({"requests": 7}, "the server counted 7 answered requests where we had 10 answers"),
        ({"requests": None, "tokens": 220}, "(or others used it too)"),
    ],
)
def test_what_cannot_be_true_is_said_with_its_numbers(changes: dict[str, float], says: str) -> None:
    (found,) = beside(window(**changes), RECORDS).contradictions
    assert says in found


@pytest.mark.parametrize("changes", [{"tokens": 111}, {"ttft": 0.105}, {"itl": 0.0205}])
def test_what_lies_within_the_slack_is_not(changes: dict[str, float]) -> None:
    assert beside(window(**changes), RECORDS).contradictions == ()


def test_where_others_used_the_server_its_times_are_shown_and_not_held_against_ours() -> None:
    found = beside(window(requests=20, ttft=9.0, e2e=9.0, tokens=500), RECORDS)
    assert len(found.contradictions) == 1 and "others" in found.contradictions[0]
    assert row(found, "ttft")[2] is False and row(found, "output_tokens")[2] is False


def test_what_failed_on_our_side_may_have_worked_on_the_server_s() -> None:
    records: list[Record] = [*RECORDS[:8], failed(8, sent_at=8.0), failed(9, sent_at=9.0)]
    found = beside(window(), records)
    assert found.contradictions == ()
    assert row(found, "output_tokens") == (110, 88, False)


def test_without_token_counts_there_is_nothing_to_hold_them_against() -> None:
    records = [replace(r, reply=replace(r.reply, output_tokens=None)) for r in RECORDS]
    found = beside(window(tokens=5), records)
    assert found.contradictions == () and row(found, "output_tokens") == (5, None, False)


def test_a_percentile_contradicts_only_beyond_its_bucket() -> None:
    def with_p95(low: float) -> ServerWindow:
        base = window()
        odd = replace(base.histograms["ttft"], quantiles={"p95": Within(low + 0.1, low, low + 0.2)})
        return replace(base, histograms={**base.histograms, "ttft": odd})

    assert beside(with_p95(0.05), RECORDS).contradictions == ()
    (says,) = beside(with_p95(0.2), RECORDS).contradictions
    assert says == "the server's p95 of ttft is above 200 ms where we saw 100 ms"


def test_sums_over_requests_stand_for_means() -> None:
    counters = {"output_tokens": 110.0, "prefill": 0.9, "decode": 1.99, "queue": 0.5}
    llama = ServerWindow(DIALECTS[2], counters, {}, {}, {}, None, 0)
    found = beside(llama, RECORDS)
    assert found.contradictions == ()
    assert row(found, "prefill") == (0.09, 0.1, True)
    assert row(found, "decode") == (0.199, 0.2, True)
    assert row(found, "queue") == (0.05, None, False)
    (says,) = beside(replace(llama, counters={**counters, "decode": 3.0}), RECORDS).contradictions
    assert "mean decode is 300 ms where we saw 200 ms" in says


def test_what_each_answer_says_of_itself_needs_no_window() -> None:
    records = [
        replace(r, reply=replace(r.reply, server_timings={"prompt_ms": 90.0, "predicted_ms": 200.0})) for r in RECORDS
    ]
    (only,) = beside(None, records).rows
    assert (only.name, round(only.server, 9), round(only.ours or 0, 9)) == ("e2e_by_answers", 0.29, 0.3)
    assert beside(None, RECORDS).rows == ()
    said = by_answers(records)
    assert said is not None and said["contradicting"] == 0
    assert said["e2e_beyond_server_ms"] == {"n": 10, "p50": 10.0, "p95": 10.0, "max": 10.0}
    assert said["ttft_beyond_prefill_ms"]["max"] == 10.0
    assert by_answers(RECORDS) is None


def test_ollama_s_durations_are_nanoseconds() -> None:
    timings = {"total_duration": 0.5e9, "prompt_eval_duration": 0.04e9}
    said = by_answers([replace(RECORDS[0], reply=replace(RECORDS[0].reply, server_timings=timings))])
    assert said is not None and said["contradicting"] == 1
    assert said["e2e_beyond_server_ms"]["max"] == -200.0 and said["ttft_beyond_prefill_ms"]["p50"] == 60.0


def test_nothing_answered_is_no_division_by_zero() -> None:
    records = [failed(n, sent_at=float(n)) for n in range(3)]
    found = beside(window(requests=0, tokens=0), records)
    assert found.contradictions == ()
    assert beside(window(), []).rows
