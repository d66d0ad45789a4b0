"""Frames of made-up exchanges, for the tests of this folder."""

from typing import Any

import msgspec

from paretoken.records.capture import CONNECTED, DUE, END, NO_REQUEST, READ, RUN, SENT, STARTED, Frame

ZERO_NS = 1_796_000_000_123_456_789  # beyond what a float holds exactly
MS = 1_000_000

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(content: str | None = None, finish: str | None = None, usage: int | None = None) -> bytes:
    value: dict[str, Any] = {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": finish}]}
    if usage is not None:
        value["usage"] = {"completion_tokens": usage}
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


DONE = b"data: [DONE]\n\n"


def frame(kind: int, request_id: int, at_ms: float, data: bytes = b"") -> Frame:
    return Frame(request_id, kind, ZERO_NS + round(at_ms * MS), data)


def run_frame(**facts: Any) -> Frame:
    return Frame(NO_REQUEST, RUN, ZERO_NS, msgspec.json.encode({"zero_ns": ZERO_NS, "clock": "kernel", **facts}))


def answered(request_id: int, at_ms: float = 0.0, words: tuple[str, ...] = ("Salt", " lake")) -> list[Frame]:
    """Due at `at_ms`, started 0.25 ms later, connected at 1, sent at 1.5, a word every 10 ms from 20 on."""
    frames = [
        frame(DUE, request_id, at_ms),
        frame(STARTED, request_id, at_ms + 0.25),
        frame(CONNECTED, request_id, at_ms + 1),
        frame(SENT, request_id, at_ms + 1.5),
        frame(READ, request_id, at_ms + 15, HEAD),
    ]
    at = at_ms + 20
    for word in words:
        frames.append(frame(READ, request_id, at, chunked(event(word))))
        at += 10
    last = chunked(event(finish="stop", usage=len(words)) + DONE) + b"0\r\n\r\n"
    return [*frames, frame(READ, request_id, at, last), frame(END, request_id, at + 0.5, b"complete")]


def schedule(count: int, **more: Any) -> dict[str, Any]:
    common = {"turn": 0, "think_s": 0.0, "wanted_output_tokens": 2, "body": '{"p":1}'}
    requests = [{"id": n, "session": n, "warmup": n == 0, **common} for n in range(count)]
    return {
        "schema": 1,
        "protocol": "openai-chat-sse",
        "arrivals": {"mode": "closed", "concurrency": 1},
        "requests": requests,
        **more,
    }
