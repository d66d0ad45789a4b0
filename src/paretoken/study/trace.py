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
from paretoken.errors import InvalidMeasurement
from paretoken.load.one import stream_one
from paretoken.load.schedule import schedule_of
from paretoken.metrics.wait import IMMEDIATE_S, Wait, budget_sentence, tokens_within, wait_of
from paretoken.study.bench import Bench
from paretoken.study.talk import Talk
from paretoken.study.target import EMBEDDED_MODEL, is_url, key_variable, running_target
from paretoken.units import MS_PER_S, ms
from paretoken.wire import protocol_named

PROMPT = "Why does a language model write its answer token by token?"


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
    sent. Raises EndpointError, EngineError, ModelError, UsageError; InvalidMeasurement when no answer came.
    """
    bench = Bench.at(home, engine, talk)
    key = key_variable(api_key_env) if is_url(target) else None
    with running_target(bench, target, model=model, protocol=protocol, api_key_env=key) as running:
        return trace_on(running, prompt, output_tokens=output_tokens, api_key_env=key, on_piece=on_piece)


def trace_on(
    running: Running,
    prompt: str,
    *,
    output_tokens: int,
    api_key_env: str | None = None,
    ignore_eos: bool = False,
    on_piece: Callable[[str, float], None] | None = None,
) -> Trace:
    """The same on something that runs already."""
    request = Request(0, 0, 0, (Message("user", prompt),), Sampling(max_tokens=output_tokens, ignore_eos=ignore_eos))
    schedule = schedule_of(
        Workload("trace", (request,), 0, 0, digest_of(prompt)),
        Closed(1),
        url=running.base_url,
        model=running.model_name,
        protocol=running.protocol,
        api_key_env=api_key_env,
    )
    reader = protocol_named(running.protocol).reader()

    def arrived(at_s: float, body: bytes) -> None:
        for piece in reader.feed(body):
            if piece.is_chunk and on_piece is not None:
                on_piece(piece.text or piece.reasoning or piece.refusal or "(tool call)", at_s)

    record, _ = stream_one(schedule, arrived)
    running.check(within_s=0.0 if record.reply.ok else 1.0)
    if not record.reply.ok:
        said = f": {record.reply.error_message}" if record.reply.error_message else ""
        raise InvalidMeasurement(f"{running.base_url} gave no whole answer ({record.reply.error}{said})")
    return Trace(prompt, record, wait_of(record))


class Watcher:
    """Turns arrivals into lines: the wait, each token with the running total, and the 100 ms line where it falls."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._line_drawn = False

    def asked(self, prompt: str) -> None:
        self._talk.line(f"> {prompt}")

    def __call__(self, text: str, at_s: float) -> None:
        if not self._line_drawn and at_s > IMMEDIATE_S:
            self._line_drawn = True
            self._talk.line("  100.0 ms ──── people expect an application to have answered by now ────")
        self._talk.line(f"{at_s * MS_PER_S:7.1f} ms  {_visible(text)}")

    def summed_up(self, found: Trace) -> None:
        """The closing lines: t·n beside ttft + tpot·(n−1), and how long an answer may be to be whole in 100 ms."""
        wait = found.wait
        if wait is None:
            self._talk.line("The server did not say how many tokens it made, so the wait per token is unknown.")
            return
        n = int(wait.n)
        for line in (
            f"measured                     {wait.e2e_s * MS_PER_S:8.1f} ms for {n} tokens",
            f"ttft + tpot·(n−1)            {wait.two_part_s * MS_PER_S:8.1f} ms "
            f"({wait.ttft_s * MS_PER_S:.1f} + {wait.tpot_s * MS_PER_S:.1f}·{n - 1}; "
            f"off by {wait.two_part_residual_s * MS_PER_S:+.1f} ms)",
            f"t·n, as textbooks have it    {wait.textbook_s * MS_PER_S:8.1f} ms "
            f"({wait.tpot_s * MS_PER_S:.1f}·{n}; off by {wait.textbook_residual_s * MS_PER_S:+.1f} ms)",
        ):
            self._talk.line(line)
        if wait.tpot_s > 0:
            self._talk.line(budget_sentence(wait.tpot_s))


def _visible(text: str) -> str:
    """Model text for a terminal: control characters are shown, never sent."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)
