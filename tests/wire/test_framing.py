"""The cheap framing ends a response where the parser ends it, whatever the cuts."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from paretoken.wire.framing import ResponseEnd, chunk_ends
from paretoken.wire.http1 import ResponseReader

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"
SIZED = b"HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\nhello world"


def chunk(data: bytes, extension: bytes = b"") -> bytes:
    return b"%x%s\r\n%s\r\n" % (len(data), extension, data)


WHOLE = HEAD + chunk(b"data: a\n\n") + chunk(b"data: b\r\n\r\n" * 30) + b"0\r\n\r\n"
STREAMS = (
    WHOLE,
    INTERIM + WHOLE,
    HEAD + chunk(b"x", b";name=value") + chunk(b"y" * 400) + b"0\r\nx-trailer: 1\r\n\r\n",
    HEAD + b"00A\r\n" + b"z" * 10 + b"\r\n0\r\n\r\n",
    SIZED,
    WHOLE + b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",  # a second answer that nobody asked for
    HEAD + chunk(b"data: a\n\n") + b"not a size\r\n",
    HEAD + b"-5\r\nhello\r\n0\r\n\r\n",
    HEAD + b"1_0\r\n" + b"q" * 16 + b"\r\n0\r\n\r\n",
    HEAD + b"fffffffffffffffff\r\n",
    b"SSH-2.0-OpenSSH_9\r\n",
)


def cut(data: bytes, at: list[int]) -> list[bytes]:
    edges = [0, *sorted(position % (len(data) + 1) for position in at), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges) if a < b]


@given(st.sampled_from(STREAMS), st.lists(st.integers(0, 2000), max_size=12))
@settings(max_examples=600, deadline=None)
def test_it_says_what_the_parser_says(stream: bytes, at: list[int]) -> None:
    end, reader = ResponseEnd(), ResponseReader(keep_body=False)
    for piece in cut(stream, at):
        over = end.feed(piece)
        reader.feed(piece)
        assert over == (end.complete or end.error is not None)
        assert (end.complete, end.status, end.error is None) == (reader.complete, reader.status, reader.error is None)
    end.eof()
    reader.eof()
    assert (end.complete, end.error) == (reader.complete, reader.error)


def test_one_whole_chunk_is_known_and_anything_else_is_not() -> None:
    end = ResponseEnd()
    one = chunk(b"data: hello\n\n")
    said = []
    for piece in (HEAD, one, one[:5], one[5:], one, one + one, one[:-2], b"\r\n", one):
        end.feed(piece)
        said.append((end.whole, end.at_edge))
    assert said == [
        (False, True),
        (True, True),
        (False, False),
        (False, True),
        (True, True),
        (False, True),
        (False, False),
        (False, True),
        (True, True),
    ]
    assert chunk_ends[one[: one.index(b"\r\n")]] == len(one)


def test_the_sizes_that_are_remembered_are_bounded() -> None:
    end = ResponseEnd()
    end.feed(HEAD)
    for size in range(1, 5000):
        end.feed(chunk(b"x" * size))
    assert len(chunk_ends) <= 4096
