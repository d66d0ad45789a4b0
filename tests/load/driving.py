"""What the tests of the load share: short schedules, and the loop driven inside the test's own process."""

import socket
from dataclasses import dataclass

import msgspec

from paretoken.core.record import Record
from paretoken.load.clock import RunClock
from paretoken.load.lines import lines_of
from paretoken.load.loop import Facts, Loop
from paretoken.load.one import FrameList
from paretoken.load.schedule import ClosedLoop, Endpoint, OpenLoop, Planned, Schedule, Timeouts
from paretoken.load.stamps import kernel_stamps
from paretoken.records.capture import LEFT, SENT, Frame
from paretoken.records.read import records_of

PATIENT = Timeouts(connect_s=5.0, first_byte_s=5.0, gap_s=5.0, total_s=10.0)


def planned(number: int, session: int | None = None, turn: int = 0, **changes: object) -> Planned:
    request = Planned(
        id=number,
        session=number if session is None else session,
        turn=turn,
        warmup=False,
        think_s=0.0,
        wanted_output_tokens=3,
        body=f'{{"n":{number}}}',
    )
    return msgspec.structs.replace(request, **changes)


def schedule(
    port: int,
    *,
    requests: int | tuple[Planned, ...] = 4,
    arrivals: ClosedLoop | OpenLoop | None = None,
    **changes: object,
) -> Schedule:
    plan = requests if isinstance(requests, tuple) else tuple(planned(number) for number in range(requests))
    made = Schedule(
        endpoint=Endpoint("http", "127.0.0.1", port, "/v1/chat/completions"),
        protocol="openai-chat-sse",
        arrivals=arrivals or ClosedLoop(1),
        requests=plan,
        timeouts=PATIENT,
    )
    return msgspec.structs.replace(made, **changes)


@dataclass(frozen=True)
class Driven:
    records: list[Record]
    facts: Facts
    frames: list[Frame]

    @property
    def outcomes(self) -> list[str]:
        """The error class of each record, or its outcome."""
        return [record.reply.error or record.outcome for record in self.records]

    def kinds(self, request_id: int) -> list[int]:
        """In their order, without the kernel's transmit stamp, which comes when it comes, and not everywhere."""
        return [frame.kind for frame in self.frames if frame.request_id == request_id and frame.kind != LEFT]

    def first_sent_ns(self, request_id: int) -> int:
        """By the kernel's stamp if there is one."""
        moments = {f.kind: f.t_ns for f in reversed(self.frames) if f.request_id == request_id}
        return moments.get(LEFT, moments[SENT])


def drive(plan: Schedule, **how: object) -> Driven:
    """Run the loop here, without a child."""
    clock = RunClock()
    with kernel_stamps():
        zero_ns = clock.now_ns() + 2_000_000
        sink = FrameList()
        loop = Loop(plan, lines_of(plan), sink, clock, zero_ns, **how)  # type: ignore[arg-type]
        facts = loop.run()
    records = records_of(plan.as_json(), [facts.frame(zero_ns), *sink.frames], plan.protocol)
    return Driven(records, facts, sink.frames)


def closed_port() -> int:
    """A port of this machine on which nobody listens."""

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
