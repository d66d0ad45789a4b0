"""The schedule: from a workload, to JSON and back, and what it refuses."""

import msgspec
import pytest

from paretoken.arrivals.closed import Closed
from paretoken.arrivals.poisson import Poisson
from paretoken.errors import CaptureError, UsageError
from paretoken.load.schedule import ClosedLoop, Endpoint, OpenLoop, schedule_from_json, schedule_of
from paretoken.workloads.chat import chat
from tests.load.driving import planned, schedule


def test_a_workload_becomes_a_schedule() -> None:
    workload = chat(requests=10, output_tokens=16, seed=1, warmup=2, warmup_output_tokens=4)
    made = schedule_of(
        workload, Closed(3), url="http://127.0.0.1:9", model="m", extra={"cache_prompt": False}, api_key_env="THE_KEY"
    )
    assert made.endpoint == Endpoint("http", "127.0.0.1", 9, "/v1/chat/completions")
    assert made.arrivals == ClosedLoop(3)
    assert [(p.id, p.session, p.turn, p.warmup) for p in made.requests] == [
        (r.id, r.session, r.turn, r.warmup) for r in workload.requests
    ]
    body = msgspec.json.decode(made.requests[5].body)
    assert body["messages"][0]["content"] == workload.requests[5].messages[0].content
    assert (body["model"], body["max_tokens"], body["cache_prompt"], body["stream"]) == ("m", 16, False, True)
    assert [p.wanted_output_tokens for p in made.requests] == [4, 4] + [16] * 10


def test_an_open_loop_has_a_moment_for_each_session() -> None:
    workload = chat(requests=10, output_tokens=16, seed=1)
    made = schedule_of(workload, Poisson(2.0, 7), url="http://127.0.0.1:9", model="m")
    assert isinstance(made.arrivals, OpenLoop)
    assert len(made.arrivals.due_s) == len(made.sessions()) == 8
    assert made.arrivals.due_s[0] == Poisson(2.0, 7).due_s(0)


def test_it_survives_json() -> None:
    for arrivals in (ClosedLoop(2), OpenLoop((0.0, 0.5, 1.0, 4.0))):
        made = schedule(80, arrivals=arrivals, duration_s=3.0, grace_s=1.0, api_key_env="THE_KEY")
        assert schedule_from_json(msgspec.json.encode(made)) == made
        assert made.as_json()["arrivals"]["mode"] in ("closed", "open")
        assert made.as_json()["schema"] == 1


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"schema": 1}'])
def test_what_is_no_schedule_is_refused(data: bytes) -> None:
    with pytest.raises(CaptureError, match="schedule cannot be read"):
        schedule_from_json(data)


def test_another_schema_is_refused() -> None:
    with pytest.raises(CaptureError, match="schema 2"):
        schedule_from_json(msgspec.json.encode(schedule(80, schema=2)))


def test_sessions_are_in_the_order_of_their_first_turn_and_turns_in_theirs() -> None:
    plan = (planned(0, session=5), planned(1, session=2), planned(2, session=5, turn=2), planned(3, session=5, turn=1))
    assert schedule(80, requests=plan).sessions() == [[0, 3, 2], [1]]


def test_contradictions_are_refused() -> None:
    with pytest.raises(UsageError, match="same id"):
        schedule(80, requests=(planned(1), planned(1)))
    with pytest.raises(UsageError, match="due moments"):
        schedule(80, arrivals=OpenLoop((0.0,)))
    with pytest.raises(UsageError, match="at least one stream"):
        schedule(80, arrivals=ClosedLoop(0))
