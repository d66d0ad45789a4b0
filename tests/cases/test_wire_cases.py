"""Cases without reads that wire, records and units answer."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from paretoken.records.capture import END, READ, SENT, STARTED, Frame
from paretoken.records.read import records_of
from paretoken.units import ms
from paretoken.wire.read import read_reply
from paretoken.wire.url import final_url


def case(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(__file__).parent / f"{name}.json").read_text())
    return found


BASES = case("cf-base-url-forms")["input"]["targets"]


@pytest.mark.parametrize("base", BASES)
def test_cf_base_url_forms(base: str) -> None:
    expected, _, rest = case("cf-base-url-forms")["expect"]["final_url"].partition(" ")
    assert rest == "for all five" and len(BASES) == 5
    assert final_url(base, "/v1/chat/completions") == expected


def test_ru_duration_over_a_second() -> None:
    given, expect = case("ru-duration-over-a-second")["input"], case("ru-duration-over-a-second")["expect"]
    assert ms(given["seconds"] + given["attoseconds"] / 10**18) == expect["ms"]


def test_rb_429_clock_does_not_restart() -> None:
    """The default policy: no retry, counted as throttled."""
    attempt = case("rb-429-clock-does-not-restart")["input"]["attempts"][0]
    reply = read_reply("openai-chat-sse", attempt["status"], "application/json", [], (attempt["end_ms"] / 1000, "eof"))
    assert reply.error == "throttled"


def _frames(request_id: int, outcome: str) -> list[Frame]:
    chunk = (
        b'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}],'
        b'"usage":{"completion_tokens":1}}\n\ndata: [DONE]\n\n'
    )
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    refusal = b"HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n"
    t_ns = 1_000_000_000 * request_id
    reads = {"ok": [head + chunk], "http_status": [refusal], "timeout": []}[outcome]
    end = {"ok": b"eof", "http_status": b"complete", "timeout": b"timeout"}[outcome]
    return [
        Frame(request_id, STARTED, t_ns, b""),
        Frame(request_id, SENT, t_ns + 1000, b""),
        *[Frame(request_id, READ, t_ns + 2000, data) for data in reads],
        Frame(request_id, END, t_ns + 3000, end),
    ]


def test_lg_every_request_accounted() -> None:
    given, expect = case("lg-every-request-accounted")["input"], case("lg-every-request-accounted")["expect"]
    requests = [{"id": number, "session": number, "turn": 0} for number in range(given["scheduled"])]
    schedule = {"requests": requests, "arrivals": {"mode": "closed", "concurrency": 1}}
    frames = [frame for number, outcome in enumerate(given["outcomes"]) for frame in _frames(number, outcome)]
    outcomes = Counter(record.outcome for record in records_of(schedule, frames, "openai-chat-sse"))
    for name in ("ok", "failed", "lost"):
        assert outcomes[name] == expect[name]
    assert outcomes.total() == given["scheduled"]
