"""What a protocol is: a name, a path, how to ask, and how to read what comes back.

A reader turns body bytes into pieces; a piece is what one event said, in words common to all protocols. Readers keep
only the unfinished event. They know nothing of moments, of HTTP and of how a response ends: read.py does.
"""

import typing
from collections.abc import Mapping
from typing import Any

import msgspec

from paretoken.core.request import Request


class ToolPart(msgspec.Struct, frozen=True, gc=False):
    """A fragment of a tool call. Fragments of equal `index` are one call; None: this fragment is a call of its own."""

    index: int | None
    id: str
    name: str
    arguments: str


class Piece(msgspec.Struct, frozen=True):
    """What one event said, of choice 0 only. Counts are the server's own, None where the event has none."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    tools: tuple[ToolPart, ...] = ()
    finish_reason: str | None = None
    done: bool = False  # the end marker
    error: str | None = None  # the message of an error object ("" when it has none)
    output_tokens: int | None = None  # so far, zero included
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    timings: Mapping[str, float] | None = None  # as the server names them

    @property
    def is_chunk(self) -> bool:
        """Whether anything of the answer is in it: role-only, empty, usage-only events are no chunks."""
        return bool(
            self.text or self.reasoning or self.refusal or any(tool.name or tool.arguments for tool in self.tools)
        )


class Reader(typing.Protocol):
    """Reads one response's body, incrementally. Fed any bytes at all it never raises."""

    n_events: int  # events with data, malformed ones included
    n_malformed: int
    invalid_utf8: bool
    failure: str | None  # why it stopped reading for good (an event beyond the limit), as a sentence
    at_end: bool  # whether what was fed last ended with the last piece that it gave

    def feed(self, data: bytes) -> list[Piece]: ...

    def end(self) -> list[Piece]:
        """At the end of the file: an event without its blank line counts, if it can be read at all."""
        ...


class Protocol(typing.Protocol):
    """Stateless. `content_types` are those that a stream of this protocol may be sent as."""

    @property
    def name(self) -> str: ...

    @property
    def default_path(self) -> str: ...

    @property
    def content_types(self) -> tuple[str, ...]: ...

    def body(self, request: Request, model: str, extra: Mapping[str, Any]) -> dict[str, Any]: ...

    def reader(self) -> Reader: ...
