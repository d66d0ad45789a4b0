"""Splitting event streams: every cut of the bytes gives the same events, at the earliest byte that completes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoken.wire.sse import SseSplitter

Events = list[tuple[bytes, bytes]]


def split(data: bytes) -> Events:
    splitter = SseSplitter()
    return splitter.feed(data) + splitter.end()


def split_by_byte(data: bytes) -> Events:
    splitter = SseSplitter()
    return [event for byte in data for event in splitter.feed(bytes([byte]))] + splitter.end()


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (b"data: a\n\n", [(b"", b"a")]),
        (b"data:a\r\n\r\ndata:  b\r\n\r\n", [(b"", b"a"), (b"", b" b")]),
        (b"data: a\r\rdata: b\r\r", [(b"", b"a"), (b"", b"b")]),
        (b"data: a\r\n\ndata: b\n\r\n", [(b"", b"a"), (b"", b"b")]),
        (b"data: a\ndata: b\ndata\n\n", [(b"", b"a\nb\n")]),
        (b": comment\n\n:\n\nid: 7\nretry: 10\n\n", []),
        (b"event: error\ndata: x\n\ndata: y\n\n", [(b"error", b"x"), (b"", b"y")]),
        (b"event: lonely\n\ndata: y\n\n", [(b"", b"y")]),
        (b"error: {}\n\n", [(b"error", b"{}")]),
        (b"\xef\xbb\xbfdata: a\n\n", [(b"", b"a")]),
        (b"\n\n\n\ndata: a\n\n\n\n", [(b"", b"a")]),
        (b"data: no blank line\n", [(b"", b"no blank line")]),
        (b"data: no line end", [(b"", b"no line end")]),
        (b"data: torn\r", [(b"", b"torn")]),
        (b"<html>\n<body>\n\n", []),
        (b"", []),
    ],
)
def test_known_streams(data: bytes, events: Events) -> None:
    assert split(data) == events
    assert split_by_byte(data) == events


@pytest.mark.parametrize(
    ("reads", "completed_by"),
    [
        ([b"data: a\n", b"\n"], 1),
        ([b"data: a\r\n\r", b"\n"], 1),  # a blank line ends with its last byte
        ([b"data: a\r\n\r\n", b"data: b"], 0),
        ([b"data: a\r\r", b"data: b"], 0),  # a stream of lone CRs is not kept waiting for an LF
        ([b"data: a\r", b"\r", b"data: b"], 1),
        ([b"data: a\n\r", b"\n"], 1),
    ],
)
def test_an_event_comes_with_the_read_that_ends_its_blank_line(reads: list[bytes], completed_by: int) -> None:
    splitter = SseSplitter()
    assert [number for number, read in enumerate(reads) if splitter.feed(read)] == [completed_by]


def test_a_late_lf_of_a_crlf_makes_no_second_line_end() -> None:
    splitter = SseSplitter()
    assert splitter.feed(b"data: a\r\r") == [(b"", b"a")]
    assert splitter.feed(b"\ndata: b\r\r") == [(b"", b"b")]


@given(st.lists(st.sampled_from([b"data: x", b"data:", b"event: e", b":", b"\n", b"\r", b"\r\n", b"z"])), st.data())
def test_cuts_do_not_matter(parts: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(parts)
    whole = split(stream)
    assert split_by_byte(stream) == whole
    cut = data.draw(st.integers(0, len(stream)))
    splitter = SseSplitter()
    assert splitter.feed(stream[:cut]) + splitter.feed(stream[cut:]) + splitter.end() == whole


@given(st.lists(st.binary(max_size=40)))
def test_no_bytes_break_it(reads: list[bytes]) -> None:
    splitter = SseSplitter(limit=50)
    for read in reads:
        splitter.feed(read)
    splitter.end()


@pytest.mark.parametrize(
    "reads",
    [
        [b"data: " + b"x" * 30] * 4,  # one line without an end
        [b"data: " + b"x" * 10 + b"\n"] * 10,  # many lines of one event
        [b"data: " + b"x" * 200 + b"\n\n"],  # at once
        [b"data:\n" * 40],  # empty lines cost memory too
        [b"event: " + b"x" * 200],
        [b"data: xxxxxxxxxxxxxxxxxxxxxxx\r\n"] * 5,
    ],
)
def test_an_event_beyond_the_limit_stops_it(reads: list[bytes]) -> None:
    splitter = SseSplitter(limit=100)
    assert [event for read in reads for event in splitter.feed(read)] == []
    assert splitter.too_large
    assert splitter.feed(b"data: y\n\n") == []
    assert splitter.end() == []


def test_what_came_before_an_event_beyond_the_limit_is_kept() -> None:
    splitter = SseSplitter(limit=100)
    assert splitter.feed(b"data: a\n\ndata: " + b"x" * 200 + b"\n\ndata: b\n\n") == [(b"", b"a")]
    assert splitter.too_large


def test_a_large_event_within_the_limit_passes_byte_by_byte() -> None:
    line = b"data: " + b"q" * 100_000 + b"\n\n"
    assert split_by_byte(line) == [(b"", b"q" * 100_000)]
