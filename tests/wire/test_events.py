"""From events to pieces: hostile JSON is counted, never raised."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paretoken.wire import PROTOCOLS, protocol_named
from paretoken.wire.base import Piece
from paretoken.wire.events import EventReader, count, error_message, numbers
from paretoken.wire.openai_events import openai_piece
from paretoken.wire.sse import SseSplitter


def reader() -> EventReader:
    return EventReader(SseSplitter(), openai_piece, b"[DONE]")


def content(text: bytes) -> bytes:
    return b'data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n' % text


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (content(b"plain"), "plain"),
        (content(b"caf\xc3\xa9"), "café"),
        (content(b"a\xe2\x80b"), "a�b"),
        (content(b"\\ud83d"), "\ud83d"),  # joined with its other half later, or replaced: read.py
        (b'data: {"logprob":-Infinity,"choices":[{"delta":{"content":"x"}}]}\n\n', "x"),
        (b'data:   {"choices":[{"delta":{"content":"x"}}]}  \n\n', "x"),
    ],
)
def test_what_servers_send_is_read(event: bytes, text: str) -> None:
    under_test = reader()
    assert [piece.text for piece in under_test.feed(event)] == [text]
    assert under_test.n_malformed == 0
    assert under_test.invalid_utf8 is (b"\xe2\x80b" in event)


@pytest.mark.parametrize(
    "data",
    [
        b"hi",
        b"[DONE",
        b"{",
        b'{"a":1} x',
        b"7",
        b"null",
        b"[1]",
        b"[" * 99_999,
        b'{"a":' * 99_999,
        b"9" * 5000,
        b"\xff",
    ],
)
def test_what_is_no_json_object_is_malformed(data: bytes) -> None:
    under_test = reader()
    assert under_test.feed(b"data: " + data + b"\n\n" + content(b"after")) == [Piece(text="after")]
    assert under_test.n_malformed == 1
    assert under_test.n_events == 2


@pytest.mark.parametrize("data", [b"", b"   "])
def test_an_event_without_data_is_nothing(data: bytes) -> None:
    under_test = reader()
    assert under_test.feed(b"data:" + data + b"\n\n") == []
    assert under_test.n_malformed == 0
    assert under_test.n_events == 0


@pytest.mark.parametrize("data", [b"[DONE]", b" [DONE] "])
def test_the_end_marker(data: bytes) -> None:
    assert reader().feed(b"data:" + data + b"\n\n") == [Piece(done=True)]


def test_at_the_end_of_the_file_a_torn_event_is_dropped_and_a_whole_one_counts() -> None:
    torn, whole = reader(), reader()
    torn.feed(content(b"x")[:20])
    whole.feed(content(b"x")[:-2])
    assert torn.end() == []
    assert torn.n_malformed == 0
    assert whole.end() == [Piece(text="x")]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (b'event: error\ndata: {"message":"full"}\n\n', "full"),
        (b'event: error\ndata: {"error":{"message":"full"}}\n\n', "full"),
        (b"event: error\ndata: overloaded\n\n", "overloaded"),
        (b'error: {"code":500,"message":"full"}\n\n', "full"),
        (b'data: {"error":{"message":"full"}}\n\n', "full"),
        (b'data: {"error":"full"}\n\n', "full"),
        (b'data: {"error":{"code":7}}\n\n', ""),
        (b'data: {"object":"error","message":"full","code":400}\n\n', "full"),
    ],
)
def test_errors_inside_a_stream(event: bytes, message: str) -> None:
    assert reader().feed(event) == [Piece(error=message)]


def test_an_event_beyond_the_limit_is_said() -> None:
    under_test = EventReader(SseSplitter(limit=50), openai_piece)
    assert under_test.feed(b"data: " + b"x" * 100) == []
    assert under_test.failure is not None


@pytest.mark.parametrize(("value", "message"), [({"error": {"error": {"error": "deep"}}}, ""), ([], ""), (None, "")])
def test_error_messages_are_looked_for_no_deeper_than_servers_put_them(value: object, message: str) -> None:
    assert error_message(value) == message


def test_counts_and_numbers_are_sane() -> None:
    assert [count(value) for value in (0, 7, -1, True, 1.0, "7", None, 2**60)] == [0, 7, *[None] * 6]
    assert numbers({"a": 1, "b": 2.5, "c": "3", "d": float("inf"), "e": True, "f": float("nan")}) == {
        "a": 1.0,
        "b": 2.5,
    }
    assert numbers([1]) is None


KEYS = (
    *("choices", "index", "delta", "content", "text", "reasoning", "tool_calls", "function", "name", "arguments", "id"),
    *("finish_reason", "usage", "completion_tokens", "prompt_tokens_details", "cached_tokens", "timings", "error"),
    *("message", "done", "eval_count", "done_reason", "x_duration"),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=6,
        )
    ),
    max_leaves=25,
)


@pytest.mark.parametrize("name", PROTOCOLS.names())
@given(value=JSON)
@settings(max_examples=50)
def test_no_json_breaks_a_protocol(name: str, value: object) -> None:
    line = json.dumps(value).encode()
    under_test = protocol_named(name).reader()
    for piece in under_test.feed(b"data: " + line + b"\n\n" if name != "ollama-ndjson" else line + b"\n"):
        assert isinstance(piece, Piece)
        assert isinstance(piece.is_chunk, bool)
