"""Requests spread over several endpoints: least busy, and a session stays where it began."""

from collections import Counter

from paretoken.arrivals.closed import Closed
from paretoken.core.request import Message, Request, Sampling, Workload
from paretoken.load.lines import Spread
from paretoken.load.schedule import schedule_of
from tests.load.driving import drive
from tests.load.server import Server, streaming


def test_a_new_session_goes_to_the_least_busy_the_first_of_equals() -> None:
    spread = Spread(2, [0, 1, 2, 3])
    assert [spread.choose(0), spread.choose(1)] == [0, 1]
    spread.over(1)
    assert spread.choose(2) == 1
    assert spread.choose(3) == 0
    assert spread.requests == [2, 2]


def test_a_session_stays_where_its_prefix_is_cached() -> None:
    spread = Spread(2, [0, 1, 0, 0])
    spread.choose(0)
    spread.choose(1)
    spread.over(0)
    spread.over(1)
    assert spread.choose(2) == 0
    assert spread.choose(3) == 0, "also where the other one is idle"


def test_two_endpoints_share_a_closed_loop() -> None:
    with Server(streaming(tokens=2, gap_s=0.02)) as one, Server(streaming(tokens=2, gap_s=0.02)) as two:
        requests = tuple(
            Request(n, n // 2, n % 2, (Message("user", f"ask {n}"),), Sampling(max_tokens=2)) for n in range(12)
        )
        plan = schedule_of(
            Workload("w", requests, 0, 0, "d" * 64),
            Closed(4),
            url=f"http://127.0.0.1:{one.port}",
            replica_urls=[f"http://127.0.0.1:{two.port}"],
            model="m",
        )
        driven = drive(plan)
    assert driven.outcomes == ["ok"] * 12
    assert sum(driven.facts.spread) == 12 and min(driven.facts.spread) >= 4
    for server, begun in zip((one, two), driven.facts.spread, strict=True):
        assert len(server.talks) == begun
        asked = Counter(str(talk.body.split(b"ask ")[1].split(b'"')[0].decode()) for talk in server.talks)
        sessions = Counter(int(number) // 2 for number in asked)
        assert set(sessions.values()) == {2}, "both turns of every session"
        assert f"host: 127.0.0.1:{server.port}".encode() in server.talks[0].head.lower()
