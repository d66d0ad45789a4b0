"""One request, live: the wait, each token as it comes, and at the end the two ways to account for it.

The one verb whose stream is read while it runs, in this process: there is a single stream and somebody watches it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paretoken.arrivals.closed import Closed
from paretoken.core.candidate import digest_of
from paretoken.core.record import Record
from paretoken.core.request import Message, Request, Sampling, Workload
from paretoken.engines.base import Running
from paretoken.errors import InvalidMeasurement, UsageError
from paretoken.load.one import EnoughHeard, Watched, stream_one
from paretoken.load.progress import Progress
from paretoken.load.schedule import Timeouts, schedule_of
from paretoken.metrics.wait import IMMEDIATE_S, Wait, budget_sentence, tokens_within, wait_of
from paretoken.study.bench import Bench
from paretoken.study.talk import Silent, Talk
from paretoken.study.target import EMBEDDED_MODEL, is_url, key_variable, running_target
from paretoken.units import MS_PER_S, ms, show_duration
from paretoken.wire import PROTOCOLS, protocol_named
from paretoken.wire.text import printable

PROMPT = "Why does a language model write its answer token by token?"
TIMEOUTS = Timeouts(first_byte_s=120.0)  # somebody waits in front of it
# A token may come in several chunks (bytes of one character); a server far beyond what was asked will not stop.
CHUNKS_A_TOKEN, CHUNKS_MORE = 4, 64


@dataclass(frozen=True, slots=True)
class Trace:
    """One request as it was: moments in seconds after its first byte was handed to the socket."""

    prompt: str
    record: Record
    wait: Wait | None  # None when the server did not say how many tokens it made

    @property
    def text(self) -> str:
        return self.record.reply.text

    def as_json(self) -> dict[str, Any]:
        record, wait = self.record, self.wait
        sent = record.sent_at or 0.0
        return {
            "ok": record.reply.ok,
            "error": record.reply.error,
            "error_message": record.reply.error_message,
            "status": record.reply.status,
            "ttft_ms": ms(record.ttft_s),
            "tpot_ms": ms(record.tpot_s),
            "e2e_ms": ms(record.e2e_s),
            "output_tokens": record.reply.output_tokens,
            "chunk_at_ms": [ms(at - sent) for at in record.reply.chunk_at],
            "text": self.text,
            "wait": None
            if wait is None
            else {
                "n": wait.n,
                "textbook_ms": ms(wait.textbook_s),
                "textbook_residual_ms": ms(wait.textbook_residual_s),
                "two_part_ms": ms(wait.two_part_s),
                "two_part_residual_ms": ms(wait.two_part_residual_s),
                "tokens_within_100_ms": tokens_within(IMMEDIATE_S, wait.tpot_s) if wait.tpot_s > 0 else None,
            },
            "warnings": list(record.reply.warnings),
        }


class NoWholeAnswer(InvalidMeasurement):
    """`found` is what was seen all the same."""

    def __init__(self, message: str, found: Trace) -> None:
        super().__init__(message)
        self.found = found


def trace(
    target: str = EMBEDDED_MODEL,
    prompt: str = PROMPT,
    *,
    model: str | None = None,
    output_tokens: int = 32,
    protocol: str = "openai-chat-sse",
    api_key_env: str | None = None,
    engine: str = "llamacpp",
    home: Path = Path(".paretoken"),
    on_piece: Callable[[str, float], None] | None = None,
    talk: Talk | None = None,
) -> Trace:
    """Send one request to a URL or a model and watch it.

    `on_piece(text, seconds)` is called for each piece of the answer as it arrives, with the time since the request was
    sent. Raises EndpointError, EngineError, ModelError, UsageError; NoWholeAnswer when no answer came.
    """
    _check_text("the prompt", prompt)
    _check_text("the model's name (--model)", model or "")
    bench = Bench.at(home, engine, talk)
    key = key_variable(api_key_env) if is_url(target) else None
    with running_target(bench, target, model=model, protocol=protocol, api_key_env=key) as running:
        return trace_on(running, prompt, output_tokens=output_tokens, api_key_env=key, on_piece=on_piece, talk=talk)


def trace_on(
    running: Running,
    prompt: str,
    *,
    output_tokens: int,
    api_key_env: str | None = None,
    ignore_eos: bool = False,
    on_piece: Callable[[str, float], None] | None = None,
    talk: Talk | None = None,
) -> Trace:
    """The same on something that runs already. `talk` says, each second, that there is nothing yet."""
    said = talk or Silent()
    request = Request(0, 0, 0, (Message("user", prompt),), Sampling(max_tokens=output_tokens, ignore_eos=ignore_eos))
    schedule = schedule_of(
        Workload("trace", (request,), 0, 0, digest_of(prompt)),
        Closed(1),
        url=running.base_url,
        model=running.model_name,
        protocol=running.protocol,
        api_key_env=api_key_env,
        timeouts=TIMEOUTS,
    )
    reader = protocol_named(running.protocol).reader()
    chunks = 0

    def arrived(at_s: float, body: bytes) -> None:
        nonlocal chunks
        for piece in reader.feed(body):
            if piece.is_chunk:
                chunks += 1
                if on_piece is not None:
                    on_piece(piece.text or piece.reasoning or piece.refusal or "(tool call)", at_s)
        if reader.failure is not None:
            raise EnoughHeard(reader.failure)
        if chunks > CHUNKS_A_TOKEN * output_tokens + CHUNKS_MORE:
            raise EnoughHeard(f"{chunks} chunks came though {output_tokens} tokens were asked for, so it was cut off")

    def waiting(progress: Progress) -> None:
        if chunks == 0:
            said.progress(f"waiting for the first token: {show_duration(progress.elapsed_s)}")

    watched = stream_one(schedule, arrived, waiting)
    said.progress("")
    record = watched.record
    running.check(within_s=0.0 if record.reply.ok else 1.0)
    found = Trace(prompt, record, wait_of(record))
    if not record.reply.ok:
        raise NoWholeAnswer(f"{running.base_url} gave no whole answer ({_why(watched, running.protocol)}", found)
    return found


def _check_text(what: str, text: str) -> None:
    """What a request's body cannot carry; a command line can hold bytes that are no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{what} is not UTF-8 (at character {error.start + 1}); write it as UTF-8 text") from error
    if "\0" in text:
        raise UsageError(f"{what} holds a NUL character; leave it out")


def _why(watched: Watched, protocol: str) -> str:
    """The end of the sentence: the error with its status, what the server said, and what can be done."""
    reply = watched.record.reply
    name = reply.error or "unknown"
    if name in ("http_status", "throttled"):
        name = f"{name} {reply.status}"
    said = f"{name}: {printable(reply.error_message)})" if reply.error_message else f"{name})"
    if reply.status is not None and 300 <= reply.status < 400 and watched.location:
        return f"{said}; it moved: give its new address, {printable(watched.location)}"
    if reply.error == "not_a_stream":
        others = ", ".join(other for other in PROTOCOLS.names() if other != protocol)
        return f"{said}; either it speaks another --protocol than {protocol} ({others}), or it does not stream"
    return said


class Watcher:
    """Turns arrivals into lines: the wait, each token with the running total, and the 100 ms line where it falls."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._line_drawn = False

    def asked(self, prompt: str) -> None:
        self._talk.line(f"> {_visible(prompt)}")

    def __call__(self, text: str, at_s: float) -> None:
        if not self._line_drawn and at_s > IMMEDIATE_S:
            self._line_drawn = True
            self._talk.line("  100.0 ms ──── people expect an application to have answered by now ────")
        self._talk.line(f"{at_s * MS_PER_S:7.1f} ms  {_visible(text)}")

    def summed_up(self, found: Trace) -> None:
        for line in closing_lines(found):
            self._talk.line(line)


def closing_lines(found: Trace) -> list[str]:
    """The result in words: t·n beside ttft + tpot·(n−1), and how long an answer may be to be whole in 100 ms."""
    wait = found.wait
    if wait is None:
        return ["The server did not say how many tokens it made, so the wait per token is unknown."]
    n = int(wait.n)
    lines = [
        f"measured                     {wait.e2e_s * MS_PER_S:8.1f} ms for {n} tokens",
        f"ttft + tpot·(n−1)            {wait.two_part_s * MS_PER_S:8.1f} ms "
        f"({wait.ttft_s * MS_PER_S:.1f} + {wait.tpot_s * MS_PER_S:.1f}·{n - 1}; "
        f"off by {wait.two_part_residual_s * MS_PER_S:+.1f} ms)",
        f"t·n, as textbooks have it    {wait.textbook_s * MS_PER_S:8.1f} ms "
        f"({wait.tpot_s * MS_PER_S:.1f}·{n}; off by {wait.textbook_residual_s * MS_PER_S:+.1f} ms)",
    ]
    return [*lines, budget_sentence(wait.tpot_s)] if wait.tpot_s > 0 else lines


def _visible(text: str) -> str:
    """Model text for a terminal: control characters are shown, never sent."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)
