"""Events → pieces: the reader that all protocols share. A protocol adds how its events are split and what one means.

In: body bytes. Out: pieces. Whatever the server sends is counted or dropped, never raised: what is not a JSON object is
malformed, bytes that are not UTF-8 become U+FFFD.
"""

import json
import typing
from collections.abc import Callable
from typing import Any

import msgspec

from paretoken.units import show_bytes
from paretoken.wire.base import Piece
from paretoken.wire.sse import EVENT_LIMIT

MAX_COUNT = 2**53  # counts beyond this are nonsense, and would not survive JSON readers


class Splitter(typing.Protocol):
    too_large: bool

    @property
    def at_end(self) -> bool: ...

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]: ...

    def end(self) -> list[tuple[bytes, bytes]]: ...


class EventReader:
    """`piece_of` says what a JSON object means; `done_marker` is the event that ends a stream without being JSON."""

    def __init__(
        self, splitter: Splitter, piece_of: Callable[[dict[str, Any]], Piece], done_marker: bytes | None = None
    ) -> None:
        self.n_events = 0
        self.n_malformed = 0
        self.invalid_utf8 = False
        self.failure: str | None = None
        self.at_end = False
        self._splitter = splitter
        self._piece_of = piece_of
        self._done_marker = done_marker

    def feed(self, data: bytes) -> list[Piece]:
        pieces = []
        last_counts = False
        for name, event in self._splitter.feed(data):
            piece = self._read(name, event)
            last_counts = piece is not None and piece is not _NOTHING
            if piece is None:
                self.n_events += 1
                self.n_malformed += 1
            elif piece is not _NOTHING:
                self.n_events += 1
                pieces.append(piece)
        self.at_end = last_counts and self._splitter.at_end
        if self._splitter.too_large and self.failure is None:
            self.failure = f"one event of the stream is larger than {show_bytes(EVENT_LIMIT)}"
        return pieces

    def end(self) -> list[Piece]:
        pieces = []
        for name, event in self._splitter.end():
            piece = self._read(name, event)
            if piece is not None and piece is not _NOTHING:  # a torn event is dropped, it is not malformed
                self.n_events += 1
                pieces.append(piece)
        return pieces

    def _read(self, name: bytes, event: bytes) -> Piece | None:
        """None: malformed. _NOTHING: an event without data, as some servers send to keep a connection alive."""
        if event == self._done_marker:
            return _DONE
        try:
            value = msgspec.json.decode(event)
        except (msgspec.MsgspecError, RecursionError):
            event = event.strip()
            if not event:
                return _NOTHING
            if event == self._done_marker:
                return _DONE
            value = self._decode_leniently(event)
        if name == b"error":
            return Piece(error=error_message(value) or event.decode(errors="replace"))
        return self._piece_of(value) if isinstance(value, dict) else None

    def _decode_leniently(self, event: bytes) -> Any:
        """What the strict decoder refused and servers do send: broken UTF-8, NaN, lone surrogates. None if hopeless."""
        try:
            text = event.decode()
        except UnicodeDecodeError:
            self.invalid_utf8 = True
            text = event.decode(errors="replace")
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return None


_DONE = Piece(done=True)
_NOTHING = Piece()


def error_message(value: Any) -> str:
    """The message of an error as servers write it: a string, {"message": …}, {"error": …} or {"detail": …}."""
    for _ in range(3):
        if isinstance(value, str):
            return value
        if not isinstance(value, dict):
            break
        value = value.get("message") or value.get("error") or value.get("detail")
    return ""


def string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def count(value: Any) -> int | None:
    """A count of tokens, or None for anything else (booleans are ints in Python, but no counts)."""
    return value if type(value) is int and 0 <= value <= MAX_COUNT else None


def mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def numbers(value: Any) -> dict[str, float] | None:
    """The finite numbers of a JSON object, at most 64 of them; None when there are none."""
    found = {
        key: float(item)
        for key, item in list(mapping(value).items())[:64]
        if type(item) in (int, float) and abs(item) < MAX_COUNT
    }
    return found or None
