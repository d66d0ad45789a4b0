"""One whole response → a Reply: what was said, when each chunk came, and whether it may be called ok.

In: body bytes with the moments of their reads, the HTTP status and content type, and how it ended. Out: a Reply whose
moments are on the clock of the reads. The definitions are docs/definitions.md's. HTTP framing is http1.py's business,
the request's own moments (due, sent) are the records'.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from paretoken.core.record import Reply, ToolCall
from paretoken.wire import protocol_named
from paretoken.wire.base import Piece, Protocol, ToolPart
from paretoken.wire.events import error_message
from paretoken.wire.text import printable, well_formed

ENDS = ("eof", "complete", "reset", "timeout", "cancelled", "refused", "lost")  # lost: no end is known

_OPENING_LIMIT = 64 * 1024  # of a body that is no stream: kept to tell what it is
TOKENS_LIMIT = 1_000_000  # per-token gaps are a list this long: a server's lie must not fill the memory
_BEFORE_THE_HEAD = {"refused": "refused", "timeout": "timeout", "cancelled": "cancelled", "lost": "lost"}
_WITHOUT_A_FINISH = {"timeout": "timeout", "cancelled": "cancelled", "lost": "lost"}


def read_reply(
    protocol: str,
    status: int | None,
    content_type: str | None,
    reads: Sequence[tuple[float, bytes]],
    end: tuple[float, str],
) -> Reply:
    """Read a whole response. `reads` are (seconds, body bytes); `end` is (seconds, one of ENDS).

    `status` None means that no response head came. Raises UsageError only for a protocol that does not exist.
    """
    reader = ReplyReader(protocol_named(protocol), status, content_type)
    for at, data in reads:
        reader.read(at, data)
    return reader.reply(*end)


class ReplyReader:
    """The same, incrementally. It keeps the answer, not the bytes.

    Moments may be any numbers that grow (`seconds_of` turns them into seconds at the end), so that a capture's
    nanosecond stamps stay exact.
    """

    def __init__(self, protocol: Protocol, status: int | None, content_type: str | None) -> None:
        self._status = status
        media_type = (content_type or "").partition(";")[0].strip().lower()
        self._stream_type = not media_type or media_type in protocol.content_types
        self._reader = protocol.reader()
        self._opening = bytearray()
        self._last_at = 0.0
        self._chunk_at: list[float] = []
        self._chunk_after: list[tuple[int, float]] = []
        self._ended_after: float | None = None
        self._counts: list[int | None] = []  # output tokens so far, as given with each chunk
        self._coalesced = False
        self._first_answer_at: float | None = None
        self._finish_at: float | None = None
        self._done_at: float | None = None
        self._finish_reason: str | None = None
        self._error: str | None = None
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[tuple[int, int], list[str]] = {}  # → id, name, arguments
        self._usage: dict[str, int] = {}
        self._timings: dict[str, float] = {}

    @property
    def finished(self) -> bool:
        """Whether the answer is over: a finish_reason or the end marker came."""
        return self._finish_at is not None or self._done_at is not None

    def read(self, at: float, data: bytes, after: float | None = None) -> list[Piece]:
        """Take one read's body bytes; returns the pieces that it completed (for a live view).

        `at` is the moment of its last byte; nothing of it had come `after`, None: at the read before. A piece that ends
        where the read ends came at `at`, any other somewhere in between, unless `after` is `at`.
        """
        if not data or self._done_at is not None:
            return []
        after = self._last_at if after is None else after
        self._last_at = at
        if not self._reader.n_events and len(self._opening) < _OPENING_LIMIT:
            self._opening += data[: _OPENING_LIMIT - len(self._opening)]
        if not self._success:
            return []
        pieces = self._reader.feed(data)
        before, exact = len(self._chunk_at), len(pieces) - self._reader.at_end
        for place, piece in enumerate(pieces):
            self._take(piece, at, at if place >= exact else after)
        if len(self._chunk_at) > before + 1:
            self._coalesced = True
        return pieces

    def reply(
        self, at: float, how: str, message: str | None = None, seconds_of: Callable[[float], float] = float
    ) -> Reply:
        """The Reply, given when and how the response ended; `message` says more about a bad end."""
        if how in ("eof", "complete") and self._success and self._done_at is None:
            tail_at = self._last_at if how == "complete" else at
            for piece in self._reader.end():
                self._take(piece, tail_at, tail_at)
        error, error_message = self._judge(how, message)
        text, reasoning = "".join(self._text), "".join(self._reasoning)
        output_tokens = self._usage.get("output_tokens")
        calls = tuple(
            ToolCall(*map(well_formed, call)) for _, call in sorted(self._calls.items(), key=lambda item: item[0])
        )

        def moment(stamp: float | None) -> float | None:
            return None if stamp is None else seconds_of(stamp)

        return Reply(
            error=error,
            error_message=error_message,
            status=self._status,
            chunk_at=tuple(map(seconds_of, self._chunk_at)),
            chunk_after=tuple((place, seconds_of(after)) for place, after in self._chunk_after),
            ended_after=moment(self._ended_after),
            chunk_tokens=self._chunk_tokens(),
            first_answer_at=moment(self._first_answer_at),
            finish_at=moment(self._finish_at),
            done_at=moment(self._done_at),
            output_tokens=output_tokens,
            prompt_tokens=self._usage.get("prompt_tokens"),
            cached_tokens=self._usage.get("cached_tokens"),
            reasoning_tokens=self._usage.get("reasoning_tokens"),
            finish_reason=None if self._finish_reason is None else well_formed(self._finish_reason),
            text=well_formed(text),
            reasoning_text=well_formed(reasoning),
            tool_calls=calls,
            n_malformed=self._reader.n_malformed,
            warnings=tuple(sorted(self._warnings(error, text + reasoning))),
            server_timings={well_formed(name): value for name, value in self._timings.items()},
        )

    @property
    def _success(self) -> bool:
        return self._status is not None and 200 <= self._status < 300

    def _take(self, piece: Piece, at: float, after: float) -> None:
        """Note one piece, which came after `after` and not after `at`. What follows the end marker is no part of the
        answer."""
        if self._done_at is not None:
            return
        if piece.error is not None:
            self._error = self._error or piece.error or "the stream carried an error object"
            return
        if piece.is_chunk:
            if after < at:
                self._chunk_after.append((len(self._chunk_at), after))
            self._chunk_at.append(at)
            self._counts.append(piece.output_tokens)
            if piece.text and self._first_answer_at is None:
                self._first_answer_at = at
            self._text.append(piece.text)
            self._reasoning.append(piece.reasoning)
        for part in piece.tools:
            self._join(part)
        if piece.finish_reason is not None:
            self._finish_reason = piece.finish_reason
            if self._finish_at is None:
                self._finish_at, self._ended_after = at, after
        if piece.done:
            self._done_at, self._ended_after = at, after
        self._note_usage(piece)

    def _join(self, part: ToolPart) -> None:
        """Fragments are joined by index. A name that comes again and again is one name."""
        key = (0, part.index) if part.index is not None else (1, len(self._calls))
        call = self._calls.setdefault(key, ["", "", ""])
        call[0] = call[0] or part.id
        call[1] += "" if part.name == call[1] else part.name
        call[2] += part.arguments

    def _note_usage(self, piece: Piece) -> None:
        """The last positive count holds; `cached` and `reasoning` may truly be zero."""
        if piece.output_tokens:
            self._usage["output_tokens"] = piece.output_tokens
        if piece.prompt_tokens:
            self._usage["prompt_tokens"] = piece.prompt_tokens
        if piece.cached_tokens is not None:
            self._usage["cached_tokens"] = piece.cached_tokens
        if piece.reasoning_tokens is not None:
            self._usage["reasoning_tokens"] = piece.reasoning_tokens
        if piece.timings:
            self._timings = dict(piece.timings)

    def _judge(self, how: str, message: str | None) -> tuple[str | None, str | None]:
        """(error class, what the server or the line said), or (None, None) for an ok reply."""
        if self._status is None:
            return _BEFORE_THE_HEAD.get(how, "reset"), message
        if not self._success:
            return ("throttled" if self._status == 429 else "http_status"), self._opening_words()
        if self._error is not None:
            return "stream_error", printable(self._error)
        if self._reader.failure is not None:
            return "stream_error", self._reader.failure
        if self._is_document():
            return "not_a_stream", self._opening_words()
        if self._finish_reason == "error":
            return "stream_error", "the finish_reason is 'error'"
        if not self.finished:
            return _WITHOUT_A_FINISH.get(how, "truncated"), message
        if not self._chunk_at:
            return "no_output", None
        return None, None

    def _is_document(self) -> bool:
        """A page or a single JSON answer instead of a stream.

        A content type that this protocol never has is forgiven when the body shows a stream all the same: servers and
        gateways mislabel. Two events do show it; one may be a whole answer in one piece.
        """
        if not self._stream_type:
            return self._reader.n_events - self._reader.n_malformed < 2
        if self._reader.n_events > self._reader.n_malformed:
            return False
        opening = bytes(self._opening).strip()
        return opening.startswith(b"<") or (opening.startswith(b"{") and _decoded(opening) is not None)

    def _opening_words(self) -> str | None:
        """The message inside a JSON error body, else how the body begins."""
        body = bytes(self._opening)
        return printable(error_message(_decoded(body)) or body.decode(errors="replace")) or None

    def _chunk_tokens(self) -> tuple[int, ...] | None:
        """Tokens of each chunk from running counts; None unless every chunk came with one that does not fall."""
        tokens, before = [], 0
        for count in self._counts:
            if count is None or count < before or count > TOKENS_LIMIT:
                return None
            tokens.append(count - before)
            before = count
        return tuple(tokens) or None

    def _warnings(self, error: str | None, text: str) -> set[str]:
        found = set()
        if self._coalesced:
            found.add("coalesced_reads")
        if self._reader.invalid_utf8 or well_formed(text).count("\ufffd") > text.count("\ufffd"):
            found.add("invalid_utf8")
        if self._reader.n_malformed:
            found.add("malformed_events")
        if error is None and self._done_at is None:
            found.add("no_done_marker")
        if error is None and "output_tokens" not in self._usage:
            found.add("usage_missing")
        return found


def _decoded(document: bytes) -> Any:
    """The JSON value, or None."""
    try:
        return msgspec.json.decode(document)
    except (msgspec.MsgspecError, RecursionError):
        return None
