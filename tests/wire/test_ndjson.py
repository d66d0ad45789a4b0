"""Splitting JSON lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoken.wire.ndjson import NdjsonSplitter


def lines(*reads: bytes, limit: int = 1000) -> list[bytes]:
    splitter = NdjsonSplitter(limit)
    events = [event for read in reads for event in splitter.feed(read)] + splitter.end()
    assert all(name == b"" for name, _ in events)
    return [line for _, line in events]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a":1}\n{"b":2}\n', [b'{"a":1}', b'{"b":2}']),
        (b'{"a":1}\r\n\r\n{"b":2}', [b'{"a":1}', b'{"b":2}']),
        (b"\n\n  \n", []),
        (b"", []),
    ],
)
def test_known_lines(data: bytes, expected: list[bytes]) -> None:
    assert lines(data) == expected
    assert lines(*(bytes([byte]) for byte in data)) == expected


def test_a_line_comes_with_its_newline() -> None:
    splitter = NdjsonSplitter()
    assert splitter.feed(b'{"a":') == []
    assert splitter.feed(b'1}\n{"b') == [(b"", b'{"a":1}')]


@given(st.lists(st.binary(max_size=30)))
def test_no_bytes_break_it(reads: list[bytes]) -> None:
    lines(*reads, limit=40)


@pytest.mark.parametrize("reads", [[b"x" * 60] * 3, [b"x" * 200 + b"\n"]])
def test_a_line_beyond_the_limit_stops_it(reads: list[bytes]) -> None:
    splitter = NdjsonSplitter(limit=100)
    assert [line for read in reads for line in splitter.feed(read)] == []
    assert splitter.too_large
    assert splitter.feed(b"{}\n") == []
    assert splitter.end() == []
