"""What a run will send, whole and frozen, before anything is sent.

Enters: a workload, arrivals, an address, a protocol. Leaves: a Schedule, and its JSON, which the child process reads
and records/read.py reads again. Bodies are finished JSON text: nothing is composed while running. No secret is in it;
`api_key_env` names the environment variable from which the child takes the key.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from paretoken.arrivals.base import Arrivals
from paretoken.core.request import Workload
from paretoken.errors import CaptureError, UsageError
from paretoken.wire import protocol_named
from paretoken.wire.url import Address, final_address

SCHEMA = 1


class Endpoint(msgspec.Struct, frozen=True):
    scheme: str  # http | https
    host: str
    port: int
    path: str

    @property
    def address(self) -> Address:
        return Address(self.scheme, self.host, self.port, self.path)


class ClosedLoop(msgspec.Struct, frozen=True, tag_field="mode", tag="closed"):
    concurrency: int


class OpenLoop(msgspec.Struct, frozen=True, tag_field="mode", tag="open"):
    due_s: tuple[float, ...]  # one moment a session, from the run's start


class Timeouts(msgspec.Struct, frozen=True):
    connect_s: float = 10.0  # TLS included
    first_byte_s: float = 300.0  # from the first byte sent to the first received: servers queue without a word
    gap_s: float = 60.0  # between two reads of one response
    total_s: float = 900.0  # from the start of a request to its end


class Planned(msgspec.Struct, frozen=True):
    """One request as it will be sent."""

    id: int
    session: int
    turn: int
    warmup: bool
    think_s: float
    wanted_output_tokens: int | None
    body: str  # JSON


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    schema: int = SCHEMA
    endpoint: Endpoint
    replicas: tuple[Endpoint, ...] = ()  # more of the same, if the load is to be spread
    protocol: str
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    api_key_env: str | None = None
    arrivals: ClosedLoop | OpenLoop
    requests: tuple[Planned, ...]
    timeouts: Timeouts = Timeouts()
    duration_s: float | None = None  # nothing becomes due after it; None: until all requests are sent
    grace_s: float = 0.0  # what is in flight at the end of the duration gets this long
    # Nothing measured is due before every warm-up request has ended and the parent has had its say (load/rest.py).
    # Arrivals and the duration then count from that moment.
    rest_after_warmup: bool = False

    def __post_init__(self) -> None:
        if len({request.id for request in self.requests}) != len(self.requests):
            raise UsageError("two requests of a schedule have the same id")
        sessions = len(self.sessions())
        if isinstance(self.arrivals, OpenLoop) and len(self.arrivals.due_s) != sessions:
            raise UsageError(f"{sessions} sessions have {len(self.arrivals.due_s)} due moments; give one for each")
        if isinstance(self.arrivals, ClosedLoop) and self.arrivals.concurrency < 1:
            raise UsageError("a closed loop needs at least one stream")

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        return (self.endpoint, *self.replicas)

    def sessions(self) -> list[list[int]]:
        """The positions in `requests` of each session's turns; sessions in the order in which they first appear."""
        found: dict[int, list[int]] = {}
        for position, request in enumerate(self.requests):
            found.setdefault(request.session, []).append(position)
        return [sorted(turns, key=lambda position: self.requests[position].turn) for turns in found.values()]

    def as_json(self) -> dict[str, Any]:
        value: dict[str, Any] = msgspec.to_builtins(self)
        return value


def schedule_of(
    workload: Workload,
    arrivals: Arrivals,
    *,
    url: str,
    model: str,
    protocol: str = "openai-chat-sse",
    extra: Mapping[str, Any] | None = None,
    api_key_env: str | None = None,
    timeouts: Timeouts | None = None,
    duration_s: float | None = None,
    grace_s: float = 0.0,
    replica_urls: Sequence[str] = (),
    rest_after_warmup: bool = False,
) -> Schedule:
    """`replica_urls` are further endpoints of the same engine. `extra` is added to every body (an engine's own
    switches, such as cache_prompt)."""
    speaks = protocol_named(protocol)
    first, *others = (_endpoint(each, speaks.default_path) for each in (url, *replica_urls))
    requests = tuple(
        Planned(
            id=request.id,
            session=request.session,
            turn=request.turn,
            warmup=request.warmup,
            think_s=request.think_s,
            wanted_output_tokens=request.sampling.max_tokens,
            body=msgspec.json.encode(speaks.body(request, model, extra or {})).decode(),
        )
        for request in workload.requests
    )
    return Schedule(
        endpoint=first,
        replicas=tuple(others),
        protocol=protocol,
        api_key_env=api_key_env,
        arrivals=_loop_of(arrivals, len({request.session for request in requests})),
        requests=requests,
        timeouts=timeouts or Timeouts(),
        duration_s=duration_s,
        grace_s=grace_s,
        rest_after_warmup=rest_after_warmup and any(request.warmup for request in requests),
    )


def schedule_from_json(data: bytes) -> Schedule:
    """Raises CaptureError where it is not a schedule of this version."""
    try:
        schedule = msgspec.json.decode(data, type=Schedule)
    except msgspec.MsgspecError as error:
        raise CaptureError(f"the stored schedule cannot be read: {error}") from error
    if schedule.schema != SCHEMA:
        raise CaptureError(f"the stored schedule has schema {schedule.schema}; this version reads {SCHEMA}")
    return schedule


def _endpoint(url: str, default_path: str) -> Endpoint:
    address = final_address(url, default_path)
    return Endpoint(address.scheme, address.host, address.port, address.path)


def _loop_of(arrivals: Arrivals, sessions: int) -> ClosedLoop | OpenLoop:
    if arrivals.concurrency is not None:
        return ClosedLoop(arrivals.concurrency)
    moments = [arrivals.due_s(index) for index in range(sessions)]
    return OpenLoop(tuple(moment for moment in moments if moment is not None))
