"""Response framing: where a response ends, what its body is, and that nothing a server sends breaks it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoken.errors import UsageError
from paretoken.wire.http1 import HEAD_LIMIT, ResponseReader, request_head

OK = b"HTTP/1.1 200 OK\r\n"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: a\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


def fed(*reads: bytes, keep_body: bool = True) -> ResponseReader:
    reader = ResponseReader(keep_body=keep_body)
    for read in reads:
        reader.feed(read)
    return reader


def by_byte(data: bytes) -> list[bytes]:
    return [bytes([byte]) for byte in data]


@pytest.mark.parametrize(
    ("response", "body", "keep_alive"),
    [
        (OK + b"Content-Length: 5\r\n\r\nhello", b"hello", True),
        (OK + b"Content-Length: 0\r\n\r\n", b"", True),
        (OK + b"Content-Length: 2\r\nConnection: close\r\n\r\nab", b"ab", False),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;x=y\r\n wo\r\n0\r\n\r\n", b"hello wo", True),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Late: b\r\n\r\n", b"a", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True),
        (INTERIM + OK + b"Content-Length: 1\r\n\r\nx", b"x", True),
        (OK + b"Upgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 1\r\n\r\nx", b"x", True),
    ],
)  # fmt: skip
def test_a_response_ends_where_it_ends(response: bytes, body: bytes, keep_alive: bool) -> None:
    for reads in ([response], by_byte(response)):
        reader = fed(*reads[:-1])
        if len(reads) > 1:
            assert not reader.complete
        reader.feed(reads[-1])
        assert reader.error is None
        assert reader.complete
        assert reader.take_body() == body
        assert reader.body_bytes == len(body)
        assert reader.keep_alive is keep_alive


def test_headers_are_lower_case_joined_and_the_final_ones() -> None:
    reader = fed(
        b"HTTP/1.1 103 Hints\r\nLink: early\r\n\r\nHTTP/1.1 503 Busy\r\nX-A: 1\r\nx-a: 2\r\nContent-Type: Text/HTML\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-A: trailer\r\n\r\n"
    )
    assert reader.status == 503
    assert reader.headers == {"x-a": "1, 2", "content-type": "Text/HTML", "transfer-encoding": "chunked"}


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    reader = fed(OK + b"\r\nabc", b"def")
    before = reader.complete
    reader.eof()
    assert (before, reader.complete) == (False, True)
    assert reader.take_body() == b"abcdef"
    assert not reader.keep_alive


@pytest.mark.parametrize(
    "part",
    [b"", OK, OK + b"Content-Length: 5\r\n\r\nhell", OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"],
)
def test_a_connection_closed_too_early_completes_nothing(part: bytes) -> None:
    reader = fed(part)
    reader.eof()
    assert not reader.complete
    assert reader.error is None


def test_body_bytes_come_with_their_read() -> None:
    reader = fed(OK + b"Transfer-Encoding: chunked\r\n\r\n6\r\nab")
    assert reader.take_body() == b"ab"
    reader.feed(b"cd")
    assert reader.take_body() == b"cd"
    reader.feed(b"ef\r\n2\r\ngh\r\n0\r\n\r\n")
    assert reader.body_parts == [b"ef", b"gh"]
    assert reader.take_body() == b"efgh"
    assert reader.take_body() == b""


def test_without_keeping_the_body_its_bytes_are_counted() -> None:
    reader = fed(OK + b"Content-Length: 5\r\n\r\nhello", keep_body=False)
    assert reader.complete
    assert reader.body_parts == []
    assert reader.body_bytes == 5


@pytest.mark.parametrize("surplus", [b"GARBAGE", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 2"])
def test_bytes_after_the_end_forbid_reuse_and_change_nothing(surplus: bytes) -> None:
    response = OK + b"X-A: b\r\nContent-Length: 2\r\n\r\nab"
    for reader in (fed(response + surplus), fed(response, surplus)):
        assert reader.complete
        assert reader.error is None
        assert reader.take_body() == b"ab"
        assert reader.headers == {"x-a": "b", "content-length": "2"}
        assert not reader.keep_alive


@pytest.mark.parametrize(
    "response",
    [
        b"<html>",
        b"SSH-2.0-OpenSSH_9\r\n",
        b"HTTP/1.1 99999 X\r\n\r\n",
        OK + b"Content-Length: 99999999999999999999999\r\n\r\n",
        OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nabc",
    ],
)
def test_what_is_not_http_is_an_error_not_an_exception(response: bytes) -> None:
    for reader in (fed(response), fed(*by_byte(response))):
        assert reader.error
        assert not reader.complete
        reader.feed(b"more")
        reader.eof()
        assert not reader.complete


def test_a_body_is_kept_until_the_framing_breaks() -> None:
    reader = fed(OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n")
    assert reader.error
    assert reader.take_body() == b"abc"


@pytest.mark.parametrize(
    "reads",
    [
        [OK, *[b"X-%d: %s\r\n" % (n, b"y" * 1000) for n in range(100)]],
        [OK + b"X: " + b"y" * 100_000],
        [OK + b"X: " + b"y" * 100_000 + b"\r\nContent-Length: 1\r\n\r\na"],  # whole, in one read
        [b"HTTP/1.1 100 Continue\r\n\r\n" * 100] * 50,
        [OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n", *[b"X: " + b"y" * 5000 + b"\r\n"] * 20],
        [OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"x" * 70_000],
    ],
    ids=["many headers", "one header", "one read", "interim", "trailer", "chunk extension"],
)
def test_heads_and_trailers_are_bounded(reads: list[bytes]) -> None:
    reader = fed(*reads)
    assert reader.error is not None
    assert "larger than" in reader.error
    assert not reader.complete
    assert sum(len(name) + len(value) for name, value in reader.headers.items()) <= HEAD_LIMIT


def test_bodies_are_bounded() -> None:
    reader = ResponseReader(body_limit=10)
    reader.feed(OK + b"\r\n12345678")
    before = reader.error
    reader.feed(b"90123")
    assert before is None
    assert reader.error == "the response's body is larger than 10 B"
    assert reader.take_body() == b"12345678"


def test_a_long_body_does_not_use_up_the_head_limit() -> None:
    reader = fed(OK + b"\r\n", *[b"x" * 10_000] * 50)
    assert reader.error is None
    assert reader.body_bytes == 500_000


PARTS = st.sampled_from([OK, b"HTTP/1.1 ", b"\r\n", b"\r\n\r\n", b"Content-Length: 3\r\n", CHUNKED, b"3\r\nabc\r\n"])


@given(st.lists(st.one_of(PARTS, st.binary(max_size=20))))
def test_no_bytes_break_it(reads: list[bytes]) -> None:
    reader = fed(*reads)
    reader.take_body()
    reader.eof()
    assert not (reader.complete and reader.error)


def test_a_request_head() -> None:
    head = request_head("POST", "/v1/x", "h:9", {"Authorization": "Bearer k", "Accept": "text/event-stream"}, 12)
    assert head == (
        b"POST /v1/x HTTP/1.1\r\nhost: h:9\r\naccept: text/event-stream\r\naccept-encoding: identity\r\n"
        b"content-type: application/json\r\nauthorization: Bearer k\r\ncontent-length: 12\r\n\r\n"
    )


@pytest.mark.parametrize(
    "headers",
    [{"X-A": "a\r\ncret: 1"}, {"X-A": "a\ncret"}, {"X A": "cret"}, {"": "cret"}, {"X-A": "cret☃"}, {"é": "cret"}],
)
def test_a_header_that_would_break_the_head_is_refused_without_its_value(headers: dict[str, str]) -> None:
    with pytest.raises(UsageError) as refusal:
        request_head("GET", "/", "h", headers, 0)
    assert "cret" not in str(refusal.value)
