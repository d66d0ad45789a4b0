"""One response → Reply: error classes, moments, counts and warnings beyond what the case files ask."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoken.core.doubt import DOUBTS
from paretoken.core.record import ERROR_CLASSES, Reply
from paretoken.errors import UsageError
from paretoken.wire import PROTOCOLS
from paretoken.wire.read import ENDS, TOKENS_LIMIT, read_reply

SSE = "text/event-stream"


def event(content: str | None = None, finish: str | None = None, usage: int | None = None, **more: Any) -> bytes:
    value: dict[str, Any] = {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": finish}], **more}
    if usage is not None:
        value["usage"] = {"completion_tokens": usage, "prompt_tokens": 3}
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


DONE = b"data: [DONE]\n\n"
A, FINISH = event("a"), event(finish="stop", usage=1)


def read(
    *reads: bytes,
    how: str = "eof",
    status: int | None = 200,
    content_type: str | None = SSE,
    end_at: float | None = None,
) -> Reply:
    """Reads come at 1 s, 2 s, …; the end half a second after the last."""
    timed = [(float(number), data) for number, data in enumerate(reads, start=1)]
    return read_reply("openai-chat-sse", status, content_type, timed, (end_at or len(reads) + 0.5, how))


@pytest.mark.parametrize(
    ("how", "error"),
    [("refused", "refused"), ("timeout", "timeout"), ("cancelled", "cancelled"), ("reset", "reset"), ("eof", "reset"),
     ("lost", "lost")],
)  # fmt: skip
def test_ends_before_the_first_byte(how: str, error: str) -> None:
    reply = read(status=None, content_type=None, how=how)
    assert (reply.error, reply.status, reply.n_chunks) == (error, None, 0)


@pytest.mark.parametrize(
    ("how", "error"),
    [("timeout", "timeout"), ("cancelled", "cancelled"), ("reset", "truncated"), ("eof", "truncated"),
     ("complete", "truncated"), ("lost", "lost")],
)  # fmt: skip
def test_ends_before_the_finish(how: str, error: str) -> None:
    assert read(A, how=how).error == error
    assert read(how=how).error == error  # a head and no more


@pytest.mark.parametrize("how", [how for how in ENDS if how != "refused"])
def test_after_the_finish_an_end_of_any_kind_is_ok(how: str) -> None:
    reply = read(A, FINISH, how=how)
    assert reply.ok
    assert "no_done_marker" in reply.warnings
    assert read(A, FINISH, DONE, how=how).warnings == ()


@pytest.mark.parametrize(
    ("status", "error"), [(429, "throttled"), (400, "http_status"), (302, "http_status"), (500, "http_status")]
)
def test_status(status: int, error: str) -> None:
    reply = read(b'{"error":{"message":"no\\u001b[2J\\n luck"}}', status=status, content_type="application/json")
    assert (reply.error, reply.error_message, reply.status) == (error, "no [2J luck", status)
    assert read(A, FINISH, DONE, status=status).error == error  # even if it streams
    assert read(A, FINISH, DONE, status=status).n_chunks == 0


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"detail":"gone"}', "gone"),
        (b'{"error":"gone"}', "gone"),
        (b"<html>gone</html>", "<html>gone</html>"),
        (b"", None),
        (b"\xff\xfe", "��"),
    ],
)
def test_the_message_of_a_status(body: bytes, message: str | None) -> None:
    assert read(body, status=500).error_message == message


def test_a_long_message_is_cut() -> None:
    message = read(b"x" * 10_000_000, status=500).error_message
    assert message is not None
    assert len(message) == 300


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<!doctype html><title>hello</title>", "text/html; charset=utf-8"),
        (b"hello", "text/plain"),
        (b"", "text/html"),
        (b'{"choices":[{"message":{"content":"whole"},"finish_reason":"stop"}]}', "application/json"),
        (b"<html>\n\n</html>\n\n", SSE),
        (b'{"error":{"message":"late"}}', SSE),
        (b"<html>", None),
    ],
)
@pytest.mark.parametrize("how", ["eof", "complete", "timeout"])
def test_a_document_is_not_a_stream(body: bytes, content_type: str | None, how: str) -> None:
    assert read(body, content_type=content_type, how=how).error == "not_a_stream"


@pytest.mark.parametrize(
    "content_type", ["Text/Event-Stream; charset=utf-8", "text/plain", "application/json", None, ""]
)
def test_a_mislabelled_stream_is_read(content_type: str | None) -> None:
    assert read(A, FINISH, DONE, content_type=content_type).ok


def test_a_torn_first_line_is_truncated_and_not_a_document() -> None:
    assert read(b'data: {"choices":[{"ind').error == "truncated"
    torn = read_reply("ollama-ndjson", 200, "application/x-ndjson", [(1.0, b'{"message":{"con')], (2.0, "eof"))
    assert torn.error == "truncated"
    assert torn.n_malformed == 0


def test_at_the_end_of_the_file_the_last_event_counts_at_the_moment_of_the_end() -> None:
    reply = read(A, event("b", finish="stop", usage=2)[:-1])
    assert reply.chunk_at == (1.0, 2.5)
    assert reply.ok
    # A response that was framed as complete ended with its last read, whenever that was noticed.
    assert read(A, event("b", finish="stop")[:-1], how="complete").chunk_at == (1.0, 2.0)
    # A reset is no end of file.
    assert read(A, event("b", finish="stop")[:-1], how="reset").error == "truncated"


def test_an_error_object_fails_what_was_fine_before_and_after() -> None:
    reply = read(A, b'data: {"error":{"code":1}}\n\n', event("b"), FINISH, DONE)
    assert (reply.error, reply.error_message) == ("stream_error", "the stream carried an error object")
    assert reply.text == "ab"


def test_what_follows_the_end_marker_is_no_part_of_the_answer() -> None:
    reply = read(A, FINISH, DONE + event("late", usage=9), b'data: {"error":{"message":"late"}}\n\n')
    assert reply.ok
    assert (reply.text, reply.output_tokens, reply.ended_at) == ("a", 1, 3.0)


def test_an_end_marker_alone_ends_an_answer() -> None:
    reply = read(A, DONE)
    assert (reply.ok, reply.finish_reason, reply.ended_at) == (True, None, 2.0)
    assert "no_done_marker" not in reply.warnings


def test_the_first_finish_is_the_finish() -> None:
    assert read(A, FINISH, event(finish="stop")).finish_at == 2.0
    assert read(A, FINISH, event(finish="error"), DONE).error == "stream_error"


def test_an_event_beyond_16_mib_is_a_stream_error() -> None:
    reply = read(A, *[b"data: " + b"x" * 4_000_000] * 5, FINISH, DONE)
    assert reply.error == "stream_error"
    assert reply.text == "a"
    assert "16" in (reply.error_message or "")


def test_usage_counts() -> None:
    reply = read(event("a", usage=1), event("b", usage=3), event(finish="stop", usage=0), DONE)
    assert reply.output_tokens == 3  # the last positive one
    assert reply.chunk_tokens == (1, 2)
    nonsense = event("b", finish="stop").replace(b'"choices"', b'"usage":{"completion_tokens":-4},"choices"')
    assert read(A, nonsense, DONE).output_tokens is None
    assert "usage_missing" in read(A, nonsense, DONE).warnings


@pytest.mark.parametrize(
    "counts", [(1, None), (None, 2), (2, 1), (TOKENS_LIMIT + 1, TOKENS_LIMIT + 2), (1, 2**50)]
)  # fmt: skip
def test_token_counts_of_chunks_are_unknown_unless_all_are_known_and_sane(
    counts: tuple[int | None, int | None],
) -> None:
    reply = read(event("a", usage=counts[0]), event("b", finish="stop", usage=counts[1]), DONE)
    assert reply.chunk_tokens is None
    assert reply.itl_per_token_s is None


def test_a_chunk_cut_inside_a_token_has_no_time_per_token() -> None:
    reply = read(event("a", usage=2), event("b", usage=2), event("c", finish="stop", usage=3), DONE)
    assert reply.chunk_tokens == (2, 0, 1)
    assert reply.itl_per_token_s is None
    assert reply.tpot_s == 2.0  # n1 = 2


def test_a_split_surrogate_pair_is_one_character_and_a_lone_half_is_replaced() -> None:
    half = b'data: {"choices":[{"delta":{"content":"\\u%s"}}]}\n\n'
    pair = read(half % b"d83d", half % b"de00", FINISH, DONE)
    assert (pair.text, pair.warnings) == ("\U0001f600", ())
    lone = read(half % b"d83d", FINISH, DONE)
    assert (lone.text, lone.warnings) == ("�", ("invalid_utf8",))


def test_tool_calls_are_joined_by_index_and_a_repeated_name_is_one_name() -> None:
    def call(**function: str) -> bytes:
        delta = {"tool_calls": [{"index": 2, "id": "x", "function": function}]}
        return b"data: " + msgspec.json.encode({"choices": [{"delta": delta}]}) + b"\n\n"

    reply = read(call(name="f", arguments="{"), call(name="f", arguments="}"), FINISH, DONE)
    assert [(c.id, c.name, c.arguments) for c in reply.tool_calls] == [("x", "f", "{}")]
    assert reply.first_answer_at is None


def test_coalesced_reads_need_two_chunks_in_one_read() -> None:
    assert "coalesced_reads" in read(A + A, FINISH, DONE).warnings
    assert "coalesced_reads" not in read(event("") + A + FINISH + DONE).warnings


def test_server_timings_are_kept_as_named() -> None:
    reply = read(A, event(finish="stop", timings={"prompt_ms": 12.5}), DONE)
    assert reply.server_timings == {"prompt_ms": 12.5}


def test_an_unknown_protocol_is_a_users_error() -> None:
    with pytest.raises(UsageError, match="openai-chat-sse"):
        read_reply("telnet", 200, None, [], (0.0, "eof"))


FRAGMENTS = st.sampled_from(
    [A, FINISH, DONE, event("b", usage=4), b"data: ", b"\n\n", b"\r", b'{"message":{"content":"x"},"done":false}\n',
     b'{"done":true,"eval_count":2}\n', b'data: {"error":{}}\n\n', b"\xe2\x80", b": x\n\n", b'{"error":1}\n']
)  # fmt: skip


@pytest.mark.parametrize("protocol", PROTOCOLS.names())
@given(
    parts=st.lists(st.one_of(FRAGMENTS, st.binary(max_size=12)), max_size=12),
    how=st.sampled_from(ENDS),
    status=st.sampled_from([None, 200, 204, 429, 500]),
    content_type=st.sampled_from([None, SSE, "application/x-ndjson", "text/html", "; ;"]),
)
def test_any_bytes_give_a_reply_and_cuts_change_nothing_but_warnings(
    protocol: str, parts: list[bytes], how: str, status: int | None, content_type: str | None
) -> None:
    reply = read_reply(protocol, status, content_type, [(1.0, part) for part in parts], (1.0, how))
    assert reply.error is None or reply.error in ERROR_CLASSES
    assert set(reply.warnings) <= DOUBTS.keys()
    assert list(reply.warnings) == sorted(reply.warnings)
    msgspec.json.encode([reply.text, reply.reasoning_text, reply.error_message, reply.finish_reason])
    bytewise = [(1.0, bytes([byte])) for part in parts for byte in part]
    again = read_reply(protocol, status, content_type, bytewise, (1.0, how))
    for name in Reply.__slots__:
        if name != "warnings":
            assert getattr(reply, name) == getattr(again, name), name
