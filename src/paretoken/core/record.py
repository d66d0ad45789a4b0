"""What happened to one request: immutable facts, and the spans derived from them.

Moments end in `_at` and are seconds on the run's monotonic clock (0 = the run's start; for a case file 0 = sent).
Derived numbers are properties, never stored twice. Source of every formula: docs/definitions.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

OUTCOMES = ("ok", "failed", "cancelled", "lost")
ERROR_CLASSES = (
    "http_status",
    "not_a_stream",
    "stream_error",
    "truncated",
    "timeout",
    "no_output",
    "refused",
    "reset",
    "throttled",
    "cancelled",
    "lost",
)


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server said, read from one response. `chunk_at[i]` is the arrival of the read that completed the i-th
    output chunk (content, text, reasoning, refusal, tool name or tool arguments of choice 0). Where one read held
    several events a chunk may have come before that: `chunk_after` has (i, after) for each such chunk, which came in
    (after, chunk_at[i]]. `ended_after` is the same of `ended_at`; None, or equal to it: exact."""

    error: str | None  # one of ERROR_CLASSES, or None when the reply is ok
    error_message: str | None = None
    status: int | None = None  # HTTP status; None when no response head came
    chunk_at: tuple[float, ...] = ()
    chunk_after: tuple[tuple[int, float], ...] = ()  # by place, only the chunks that are not exact
    ended_after: float | None = None
    chunk_tokens: tuple[int, ...] | None = None  # tokens per chunk, only if every chunk's count is known
    first_answer_at: float | None = None  # first chunk of content/text
    finish_at: float | None = None  # the event with the finish_reason
    done_at: float | None = None  # the end marker
    output_tokens: int | None = None  # as counted by the server; None = never given
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    finish_reason: str | None = None
    text: str = ""
    reasoning_text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    n_malformed: int = 0
    warnings: tuple[str, ...] = ()  # names from core/doubt.py, sorted
    server_timings: Mapping[str, float] = field(default_factory=dict)  # as the server names them

    @property
    def ok(self) -> bool:
        return self.error is None

    @property
    def ended_at(self) -> float | None:
        """Arrival of the end marker, else of the finish_reason."""
        return self.done_at if self.done_at is not None else self.finish_at

    @property
    def n_chunks(self) -> int:
        return len(self.chunk_at)

    @property
    def itl_s(self) -> tuple[float, ...]:
        """Gaps between neighbouring output chunks, one sample a gap."""
        return tuple(b - a for a, b in zip(self.chunk_at, self.chunk_at[1:], strict=False))

    @property
    def itl_per_token_s(self) -> tuple[float, ...] | None:
        """Gap/k repeated k times, the first chunk's tokens left out; None unless every chunk's count is known (and
        none is 0: a chunk cut inside a token has no time per token)."""
        if self.chunk_tokens is None or 0 in self.chunk_tokens[1:]:
            return None
        gaps = zip(self.itl_s, self.chunk_tokens[1:], strict=True)
        return tuple(gap / k for gap, k in gaps for _ in range(k))

    @property
    def tpot_s(self) -> float | None:
        """(t_last − t_first)/(N − n₁), n₁ = tokens in the first chunk (1 if unknown); None when N unknown or N ≤ n₁."""
        if self.output_tokens is None or not self.chunk_at:
            return None
        first = self.chunk_tokens[0] if self.chunk_tokens else 1
        if self.output_tokens <= first:
            return None
        return (self.chunk_at[-1] - self.chunk_at[0]) / (self.output_tokens - first)


@dataclass(frozen=True, slots=True)
class Record:
    """One scheduled request: when it was due, started and sent, and the reply if there was one."""

    request_id: int
    session: int
    turn: int
    warmup: bool
    wanted_output_tokens: int | None
    outcome: str  # one of OUTCOMES
    due_at: float
    started_at: float | None  # first connect call, or first byte on an open connection; None = never started
    sent_at: float | None  # first byte of the request handed to the socket
    connect_s: float | None  # None when the connection was reused or never made
    connection_reused: bool
    reply: Reply

    @property
    def lateness_s(self) -> float | None:
        """Our own delay: started − due."""
        return None if self.started_at is None else self.started_at - self.due_at

    @property
    def ttft_s(self) -> float | None:
        return self._since_sent(self.reply.chunk_at[0] if self.reply.chunk_at else None)

    @property
    def ttfa_s(self) -> float | None:
        return self._since_sent(self.reply.first_answer_at)

    @property
    def ttft_from_due_s(self) -> float | None:
        """What a user feels; `ttft` in an SLO means this one."""
        return self.reply.chunk_at[0] - self.due_at if self.reply.chunk_at else None

    @property
    def e2e_s(self) -> float | None:
        return self._since_sent(self.reply.ended_at)

    @property
    def tpot_s(self) -> float | None:
        return self.reply.tpot_s

    def _since_sent(self, moment: float | None) -> float | None:
        return None if moment is None or self.sent_at is None else moment - self.sent_at
