"""A schedule and the frames of its capture → one Record for every scheduled request.

In: what was to be sent, and what was seen, in the order in which it was seen. Out: Records on the run's clock (0 = the
run's start, seconds), and what the capture says about its run. No request vanishes: one without an end is `lost`. It
opens no file and judges no run.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from paretoken.core.record import Record, Reply
from paretoken.errors import CaptureError, UsageError
from paretoken.records.capture import (
    CONNECTED,
    DUE,
    END,
    LEFT,
    READ,
    READ_LENGTH,
    RUN,
    SENT,
    SINCE_THE_LAST,
    STARTED,
    Frame,
    RunStamp,
    run_stamp,
)
from paretoken.units import NS_PER_S
from paretoken.wire import protocol_named
from paretoken.wire.base import Protocol
from paretoken.wire.http1 import ResponseReader
from paretoken.wire.read import ENDS, ReplyReader


class _Planned(msgspec.Struct, frozen=True):
    id: int
    session: int
    turn: int
    warmup: bool = False
    wanted_output_tokens: int | None = None


class _Arrivals(msgspec.Struct, frozen=True):
    mode: str
    due_s: tuple[float, ...] = ()  # of an open loop: one a session, in the order in which sessions first appear


class _Schedule(msgspec.Struct, frozen=True):
    requests: tuple[_Planned, ...]
    arrivals: _Arrivals
    duration_s: float | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A capture as read. `bytes_missing`: requests whose bytes were not kept, so that their replies are unknown."""

    records: tuple[Record, ...]
    stamp: RunStamp
    bytes_missing: frozenset[int]


def records_of(schedule: Mapping[str, Any], frames: Iterable[Frame], protocol: str) -> list[Record]:
    """The Records alone, in the schedule's order. Raises CaptureError where schedule and frames do not fit."""
    return list(read_run(schedule, frames, protocol).records)


def read_run(schedule: Mapping[str, Any], frames: Iterable[Frame], protocol: str) -> Reading:
    """Memory holds the answers, not the bytes. Raises CaptureError where schedule and frames do not fit."""
    try:
        plan = msgspec.convert(dict(schedule), _Schedule)
        speaks = protocol_named(protocol)
    except (msgspec.ValidationError, UsageError) as error:
        raise CaptureError(f"the stored schedule cannot be read: {error}") from error
    exchanges = {request.id: _Exchange(speaks) for request in plan.requests}
    about_run: list[Frame] = []
    first_ns: int | None = None
    for frame in frames:
        if frame.kind == RUN:
            about_run.append(frame)
            continue
        if first_ns is None:
            first_ns = frame.t_ns
        if frame.request_id not in exchanges:
            raise CaptureError(f"the capture names request {frame.request_id}, which its schedule does not have")
        exchanges[frame.request_id].take(frame)
    stamp = run_stamp(about_run)
    zero_ns = stamp.zero_ns if stamp.zero_ns is not None else (first_ns or 0)
    due_s = _planned_due_s(plan)
    records = []
    for request in plan.requests:
        exchange, planned_s = exchanges[request.id], due_s.get(request.id)
        if exchange.seen or _was_due(plan, planned_s):
            records.append(exchange.record(request, planned_s, zero_ns))
    missing = frozenset(number for number, exchange in exchanges.items() if exchange.bytes_missing)
    return Reading(tuple(records), stamp, missing)


def _planned_due_s(plan: _Schedule) -> dict[int, float]:
    """What the schedule itself says about due moments: those of the first turns of an open loop."""
    sessions = {session: index for index, session in enumerate(dict.fromkeys(r.session for r in plan.requests))}
    due_s = plan.arrivals.due_s
    return {
        request.id: due_s[sessions[request.session]]
        for request in plan.requests
        if request.turn == 0 and sessions[request.session] < len(due_s)
    }


def _was_due(plan: _Schedule, planned_s: float | None) -> bool:
    """A run of stated duration holds more requests than it can send: those that never fell due were not scheduled."""
    return plan.duration_s is None or (planned_s is not None and planned_s < plan.duration_s)


class _Exchange:
    """One request's frames, taken in order. With more than one attempt the clock runs from the first."""

    def __init__(self, protocol: Protocol) -> None:
        self.seen = False
        self.bytes_missing = False
        self._protocol = protocol
        self._moments: dict[int, int] = {}  # kind of frame → its first stamp
        self._end: tuple[int, str, str | None] | None = None
        self._last_ns = 0
        self._http: ResponseReader | None = None
        self._reply: ReplyReader | None = None

    def take(self, frame: Frame) -> None:
        self.seen = True
        if self._end is not None:
            return  # what follows the end is no part of this response
        before_ns, self._last_ns = self._last_ns, frame.t_ns
        if frame.kind == READ:
            self._read(frame, before_ns)
        elif frame.kind == READ_LENGTH:
            self.bytes_missing = True
        elif frame.kind == END:
            how, _, reason = frame.data.decode(errors="replace").partition(":")
            if how not in ENDS:
                raise CaptureError(f"the capture ends request {frame.request_id} in an unknown way")
            self._end = (frame.t_ns, how, reason.strip() or None)
        elif frame.kind in (STARTED, CONNECTED, SENT, DUE, LEFT):
            self._moments.setdefault(frame.kind, frame.t_ns)

    def _read(self, frame: Frame, before_ns: int) -> None:
        """`before_ns` is the moment of the frame before, and what came in a read came after it."""
        if self._http is None:
            self._http = ResponseReader()
        self._http.feed(frame.data)
        if self._reply is None and self._http.status is not None:
            self._reply = ReplyReader(self._protocol, self._http.status, self._http.headers.get("content-type"))
        if self._reply is not None:
            after_ns = max(before_ns, frame.t_ns - frame.within_ns) if frame.within_ns < SINCE_THE_LAST else before_ns
            self._reply.read(frame.t_ns, self._http.take_body(), min(after_ns, frame.t_ns))

    def record(self, request: _Planned, planned_due_s: float | None, zero_ns: int) -> Record:
        def seconds(t_ns: float) -> float:
            return (t_ns - zero_ns) / NS_PER_S  # exact: stamps are whole nanoseconds until here

        at = {kind: seconds(t_ns) for kind, t_ns in self._moments.items()}
        started_at, sent_at = at.get(STARTED), at.get(LEFT, at.get(SENT))
        due_at = at.get(DUE, planned_due_s)
        if due_at is None:
            due_at = started_at if started_at is not None else 0.0
        reply = self._replied(seconds)
        return Record(
            request_id=request.id,
            session=request.session,
            turn=request.turn,
            warmup=request.warmup,
            wanted_output_tokens=request.wanted_output_tokens,
            outcome=self._outcome(reply),
            due_at=due_at,
            started_at=started_at,
            sent_at=sent_at,
            connect_s=self._connect_s(),
            connection_reused=sent_at is not None and CONNECTED not in at,
            reply=reply,
        )

    def _connect_s(self) -> float | None:
        if STARTED not in self._moments or CONNECTED not in self._moments:
            return None
        return (self._moments[CONNECTED] - self._moments[STARTED]) / NS_PER_S

    def _replied(self, seconds: Callable[[float], float]) -> Reply:
        t_ns, how, reason = self._end or (self._last_ns, "lost", None)
        http_error = None if self._http is None else self._http.error
        if http_error is not None:
            reason = http_error
            how = how if how in ("timeout", "cancelled", "lost") else "reset"
        reader = self._reply or ReplyReader(self._protocol, None, None)
        reply = reader.reply(t_ns, how, reason, seconds)
        if how == "lost":
            return replace(reply, error="lost")
        if self._reply is None and self._http is not None:  # something came, but no head
            if http_error is not None:
                return replace(reply, error="not_a_stream")
            if reply.error == "reset":
                return replace(reply, error="truncated")
        return reply

    @staticmethod
    def _outcome(reply: Reply) -> str:
        if reply.error is None:
            return "ok"
        return reply.error if reply.error in ("cancelled", "lost") else "failed"
