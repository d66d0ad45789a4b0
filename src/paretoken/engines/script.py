"""What a scripted engine is told: how each answer goes, when it is ready, and how it dies.

Values only; the engine is scripted.py, the program that obeys is scripted_server.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from paretoken.engines.base import Settings, one_of, seconds, whole
from paretoken.errors import UsageError

USAGES = ("true", "none", "lie")  # a lie is twice the truth
ROLES = ("with_first", "at_once", "none")
FRAMINGS = ("chunked", "close")  # how the response ends: by its last chunk, or by the connection's end
FAULTS = (
    "none",
    "close",  # the connection ends before any byte of a response
    "html",  # 200 with a web page
    "error_event",  # an error inside the stream, which then ends
    "truncate",  # the connection ends in mid-stream
    "reset",  # the same by a TCP reset
    "stall",  # nothing more, the connection stays open
    "stall_after_done",  # all is said, but the body never ends
    "malformed",  # one event that is not JSON, then on as if nothing had been
    "exit",  # the engine ends with status 3
    "segv",  # … by a segmentation fault
    "oom",  # … saying that it is out of memory
)
METRICS = ("none", "true", "lie")  # /metrics: none, in vLLM's dialect, or the same with everything twice the truth
DEATHS = ("exit", "segv", "oom")


@dataclass(frozen=True)
class Script(Settings):
    """One streamed answer. Times count from the moment the request was read (and had a slot). `gap_s` is one gap for
    all, or one per chunk after the first, the last one repeated. `fault` strikes after `fault_after` chunks."""

    ttft_s: float = 0.0
    gap_s: float | tuple[float, ...] = 0.0
    texts: tuple[str, ...] | None = None  # None: as many as it takes to say the output tokens
    output_tokens: int | None = None  # None: as many as asked, or one a text
    tokens_per_chunk: int = 1
    chunks_per_write: int = 1
    role: str = "with_first"
    usage: str = "true"
    finish_reason: str | None = None  # None: "stop" after given texts, else "length"
    done_marker: bool = True
    framing: str = "chunked"
    status: int = 200
    fault: str = "none"
    fault_after: int = 0

    def __post_init__(self) -> None:
        for gap in (self.ttft_s, *(self.gap_s if isinstance(self.gap_s, tuple) else (self.gap_s,))):
            seconds("a time of a script", gap)
        for name, allowed in (("role", ROLES), ("usage", USAGES), ("framing", FRAMINGS), ("fault", FAULTS)):
            one_of(name, getattr(self, name), allowed)
        for name in ("tokens_per_chunk", "chunks_per_write"):
            whole(name, getattr(self, name), 1, 1_000_000)
        whole("status", self.status, 200, 599)
        whole("fault_after", self.fault_after, 0, 1_000_000)
        if self.output_tokens is not None:
            whole("output_tokens", self.output_tokens, 0, 1_000_000)

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        return super().from_json({name: tuple(v) if isinstance(v, list) else v for name, v in given.items()})

    def gap_before_s(self, chunk: int) -> float:
        """Pause before chunk 1, 2, … (chunk 0 comes at ttft)."""
        if isinstance(self.gap_s, tuple):
            return self.gap_s[min(chunk, len(self.gap_s)) - 1] if self.gap_s else 0.0
        return self.gap_s

    def tokens(self, asked: int) -> int:
        if self.output_tokens is not None:
            return self.output_tokens
        return asked if self.texts is None else len(self.texts) * self.tokens_per_chunk

    def chunks(self, asked: int) -> tuple[str, ...]:
        if self.texts is not None:
            return self.texts
        return tuple(f" w{i}" for i in range(-(-self.tokens(asked) // self.tokens_per_chunk)))


@dataclass(frozen=True)
class ScriptedSettings(Settings):
    """`scripts` are taken in turn, one a streamed request, again from the start. Requests that are not streamed (the
    readiness check) are answered at once and not counted. Times count from the program's start."""

    scripts: tuple[Script, ...] = (Script(),)
    slots: int | None = None  # requests answered at one time; the others wait, headers withheld. None: no limit
    refuse_s: float = 0.0  # until then connections are refused
    health_after_s: float = 0.0  # until then /health answers 503
    ready_after_s: float = 0.0  # until then completions answer 503
    web_page: bool = False  # answers everything with 200 and HTML, as a wrong server on our port would
    die_at_request: int | None = None  # 1 = the first streamed one
    die_at_concurrent: int | None = None
    death: str = "oom"
    metrics: str = "none"

    def __post_init__(self) -> None:
        if not self.scripts:
            raise UsageError("a scripted engine needs at least one script")
        for name in ("refuse_s", "health_after_s", "ready_after_s"):
            seconds(name, getattr(self, name))
        for name in ("slots", "die_at_request", "die_at_concurrent"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), 1, 1_000_000)
        one_of("death", self.death, DEATHS)
        one_of("metrics", self.metrics, METRICS)

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        scripts = given.get("scripts")
        if scripts is None:
            return super().from_json(given)
        read = tuple(s if isinstance(s, Script) else Script.from_json(s) for s in scripts)
        return super().from_json({**given, "scripts": read})
