"""Before a run: is there anybody at all, and is it an inference server? One connection, one small question.

In: a schedule, or an endpoint. Out: the models that it names, or one sentence (EndpointError): nobody there, a web
page, a key that is missing. What answers anything else is not judged here: the run's records will be.
"""

import msgspec

from paretoken.errors import EndpointError
from paretoken.load.clock import RunClock
from paretoken.load.connect import connector
from paretoken.load.lines import Line
from paretoken.load.loop import Loop
from paretoken.load.message import authorization, message
from paretoken.load.one import FrameList
from paretoken.load.schedule import ClosedLoop, Endpoint, Planned, Schedule, Timeouts
from paretoken.records.capture import END, READ, Frame
from paretoken.wire.http1 import ResponseReader
from paretoken.wire.url import final_address

_LIMITS = Timeouts(connect_s=5.0, first_byte_s=8.0, gap_s=4.0, total_s=14.0)
_MODELS_PATH = "/v1/models"


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model] = []


def preflight(schedule: Schedule) -> tuple[str, ...]:
    """The names of the models that the schedule's endpoint serves, as far as it says. Raises EndpointError."""
    return served_models(schedule.endpoint, api_key_env=schedule.api_key_env, headers=schedule.headers)


def served_models(
    endpoint: Endpoint, *, api_key_env: str | None = None, headers: dict[str, str] | None = None
) -> tuple[str, ...]:
    """The same, before there is a schedule."""
    address = final_address(endpoint.address.url, _MODELS_PATH)
    asked = Endpoint(address.scheme, address.host, address.port, address.path)
    how, reason, answer = _get(asked, {**(headers or {}), **authorization(api_key_env)})
    place = f"{'[' + asked.host + ']' if ':' in asked.host else asked.host}:{asked.port}"
    if how == "refused":
        raise EndpointError(f"cannot connect to {place} ({reason}); is the server running there?")
    if answer.status is None:
        what = {"timeout": f"no answer in time ({reason})", "reset": "it ended the connection"}
        said = answer.error or what.get(how, "it closed the connection without a word")
        raise EndpointError(f"{place} was asked for its models and gave none: {said}; is it an inference server?")
    if answer.status in (401, 403):
        raise EndpointError(
            f"{place} wants a key (HTTP {answer.status}); put it into an environment variable and name that one"
        )
    if answer.status != 200:
        return ()  # not every inference server lists its models
    try:
        models = msgspec.json.decode(answer.take_body(), type=_Models)
    except (msgspec.MsgspecError, RecursionError) as error:
        kind = answer.headers.get("content-type", "something else").partition(";")[0]
        raise EndpointError(f"{address.url} answers with {kind}: that is not an inference server") from error
    return tuple(model.id for model in models.data)


def _get(endpoint: Endpoint, headers: dict[str, str]) -> tuple[str, str, ResponseReader]:
    """How it ended, why, and what came."""
    connect = connector(endpoint.address, _LIMITS.connect_s)
    clock = RunClock()
    question = Planned(id=0, session=0, turn=0, warmup=False, think_s=0.0, wanted_output_tokens=None, body="")
    schedule = Schedule(endpoint=endpoint, protocol="", arrivals=ClosedLoop(1), requests=(question,), timeouts=_LIMITS)
    zero_ns = clock.now_ns()
    sink = FrameList()
    Loop(schedule, [Line(connect, [message(endpoint, "GET", headers, b"")])], sink, clock, zero_ns).run()
    answer = ResponseReader()
    end = Frame(0, END, 0, b"")
    for frame in sink.frames:
        if frame.kind == READ:
            answer.feed(frame.data)
        elif frame.kind == END:
            end = frame
    how, _, reason = end.data.decode(errors="replace").partition(": ")
    return how, reason, answer
