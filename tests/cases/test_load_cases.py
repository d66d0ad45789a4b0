"""The cases about load generation, under their ids; times scaled down where a real server answers."""

import json
import time
from pathlib import Path
from statistics import fmean, median
from typing import Any

import msgspec
import pytest

from paretoken.core.record import Record, Reply
from paretoken.errors import EndpointError
from paretoken.load import loop
from paretoken.load.pace import Pace
from paretoken.load.preflight import preflight
from paretoken.load.schedule import ClosedLoop, OpenLoop
from paretoken.records.read import records_of
from tests.load.driving import drive, planned, schedule
from tests.load.server import Server, Talk, head_of, streaming
from tests.load.test_pace import simulate


def case(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    content = json.loads((Path(__file__).parent / f"{name}.json").read_text())
    return content["input"], content["expect"]


def test_lg_closed_loop_realised_rate() -> None:
    given, expect = case("lg-closed-loop-realised-rate")
    service_s, think_s, duration_s = given["service_ms"] / 1000, given["think_ms"] / 1000, float(given["duration_s"])
    reserve = tuple(planned(number, think_s=think_s) for number in range(1000))
    plan = schedule(1, requests=reserve, arrivals=ClosedLoop(given["users"]), duration_s=duration_s)
    spans = simulate(Pace(plan, zero_ns=0), lambda position: service_s)
    in_flight_s = sum(ended - sent for sent, ended in spans) / 1e9
    assert len(spans) / duration_s == pytest.approx(expect["requests_per_s"], rel=expect["tolerance"])
    assert in_flight_s / duration_s == pytest.approx(expect["mean_in_flight"], rel=expect["tolerance"])


def test_rb_grace_period() -> None:
    given, expect = case("rb-grace-period")
    scale = 1 / 12
    ends_s = [request["end_s"] * scale for request in given["in_flight_at_10s"]]

    def answer(talk: Talk) -> None:
        talk.wait(ends_s[talk.number])
        streaming()(talk)

    plan = schedule(
        0,
        requests=4,
        arrivals=ClosedLoop(len(ends_s)),
        duration_s=given["duration_s"] * scale,
        grace_s=given["grace_s"] * scale,
    )
    before = time.monotonic()
    with Server(answer) as server:
        driven = drive(msgspec.structs.replace(plan, endpoint=schedule(server.port).endpoint))
    outcomes = [record.outcome for record in driven.records]
    assert outcomes.count("ok") == expect["completed_in_grace"]
    assert outcomes.count("cancelled") == expect["cancelled"]
    assert len(outcomes) == len(ends_s)  # the other two never became due: they were only in reserve
    (late,) = [record for record in driven.records if record.outcome == "cancelled"]  # which of both came first, varies
    assert late.reply.error_message == "the grace period was over"
    assert expect["cancelled_counted_as"].startswith("cancelled")
    assert time.monotonic() - before < ends_s[1]  # the run did not wait for the slow one


def test_lg_coordinated_omission() -> None:
    given, expect = case("lg-coordinated-omission")
    records = [
        Record(
            request_id=row["id"],
            session=row["id"],
            turn=0,
            warmup=False,
            wanted_output_tokens=None,
            outcome="ok",
            due_at=row["scheduled_ms"] / 1000,
            started_at=row["sent_ms"] / 1000,
            sent_at=row["sent_ms"] / 1000,
            connect_s=None,
            connection_reused=True,
            reply=Reply(error=None, chunk_at=(row["end_ms"] / 1000,), done_at=row["end_ms"] / 1000),
        )
        for row in given["records"]
    ]
    from_sent_ms = [1000 * (record.e2e_s or 0.0) for record in records]
    from_due_ms = [1000 * (record.ttft_from_due_s or 0.0) for record in records]
    lateness_ms = [1000 * (record.lateness_s or 0.0) for record in records]
    assert from_due_ms == pytest.approx(expect["latency_from_schedule_ms"]["list"])
    assert median(from_due_ms) == pytest.approx(expect["latency_from_schedule_ms"]["p50"])
    assert max(from_sent_ms) == pytest.approx(expect["latency_from_sent_ms"]["max"])
    assert max(lateness_ms) == pytest.approx(expect["dispatch_lag_ms"]["max"])
    assert fmean(lateness_ms) == pytest.approx(expect["dispatch_lag_ms"]["mean"])
    assert sum(late > 10 for late in lateness_ms) == expect["late_over_10ms"]


def test_lg_coordinated_omission_in_the_loop_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the loop is held up (here by its own watcher of progress), requests stay due when they were due."""
    monkeypatch.setattr(loop, "PROGRESS_EVERY_S", 0.1)
    held_up: list[object] = []

    def hold_up(progress: object) -> None:
        if not held_up:
            time.sleep(0.2)
        held_up.append(progress)

    moments = tuple(0.04 * number for number in range(10))
    with Server(streaming()) as server:
        driven = drive(
            schedule(server.port, requests=10, arrivals=OpenLoop(moments)),
            on_progress=hold_up,
        )
    assert [round(record.due_at, 6) for record in driven.records] == [round(moment, 6) for moment in moments]
    assert max(record.lateness_s or 0.0 for record in driven.records) > 0.1
    assert min(record.lateness_s or 0.0 for record in driven.records) < 0.1


def test_cf_preflight() -> None:
    given, expect = case("cf-preflight")
    plan = schedule(1, requests=given["concurrency"], arrivals=ClosedLoop(given["concurrency"]))
    before = time.monotonic()
    with pytest.raises(EndpointError) as caught:
        preflight(plan)
    assert time.monotonic() - before < expect["seconds_max"]
    assert all(part in str(caught.value) for part in expect["message_contains"])
    assert caught.value.exit_code != 0


def test_lg_every_request_accounted() -> None:
    given, expect = case("lg-every-request-accounted")
    outcomes = given["outcomes"]

    def answer(talk: Talk) -> None:
        number = int(talk.body[5:-1])
        if outcomes[number] == "ok":
            streaming()(talk)
        elif outcomes[number] == "http_status":
            talk.send(head_of("500 Oops", "application/json", "content-length: 2") + b"{}")
        else:
            talk.hang()

    timeouts = msgspec.structs.replace(schedule(1).timeouts, first_byte_s=0.5)
    with Server(answer) as server:
        plan = schedule(server.port, requests=given["scheduled"] - 1, arrivals=ClosedLoop(3), timeouts=timeouts)
        driven = drive(plan)
    # The tenth was scheduled, and the capture has no word about it: its writer was killed.
    whole = schedule(server.port, requests=given["scheduled"]).as_json()
    records = records_of(whole, driven.frames, "openai-chat-sse")
    count = {name: sum(record.outcome == name for record in records) for name in ("ok", "failed", "cancelled", "lost")}
    assert (count["ok"], count["failed"], count["lost"]) == (expect["ok"], expect["failed"], expect["lost"])
    assert sum(count.values()) == given["scheduled"]
