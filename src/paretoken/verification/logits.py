"""Two models' logits, compared position by position in a child process.

Enter model files, a text, and the reads to make (which model, under which settings); leave `Findings`: positions per
read, what the tokenizers are, a change of the service and answers where asked for. The engine is never loaded here,
only by logits_child.py. Raises NoLogits where the engine's C interface cannot be trusted (another build, another
system): topk.py is the way then.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from importlib import metadata, util
from pathlib import Path
from typing import Any

from paretoken.core.candidate import Model
from paretoken.errors import EngineError, MissingExtraError, ModelError
from paretoken.machine.quota import cpu_quota
from paretoken.verification.child_events import ChildFailed, events_of
from paretoken.verification.how import F16, How
from paretoken.verification.llama_abi import PINNED
from paretoken.verification.positions import Positions
from paretoken.verification.text import Text
from paretoken.verification.tokenizer import Tokenizer

OnProgress = Callable[[str], None]
BASELINE = "baseline"
CANDIDATE = "candidate"
TIMEOUT_S = 1800.0

# No time is measured here, so the engine's threads may sleep at their barriers. Spinning ones, its default, slow down
# tenfold when another process wants a core.
_PATIENT = {"OMP_WAIT_POLICY": "passive"}


class NoLogits(EngineError):
    """The engine's C interface is not there, or not the one that we know."""


@dataclass(frozen=True, slots=True)
class Read:
    """One way of reading: `windows` is how many documents, from the first; `alone` decodes each by itself."""

    name: str
    model: str  # BASELINE or CANDIDATE
    threads: int
    windows: int
    ubatch: int = 512
    flash_attention: str = "auto"
    alone: bool = False
    kv_type: str = F16


@dataclass(frozen=True, slots=True)
class Answer:
    """A greedy answer: token ids, the leads of each over the second best (nats), the text, whether it ended itself."""

    model: str
    prompt: int
    tokens: tuple[int, ...]
    gaps: tuple[float, ...]
    text: str
    ended: bool
    templated: bool


@dataclass(frozen=True, slots=True)
class Chats:
    """Prompts as lists of (role, content), answered greedily by both models."""

    prompts: tuple[tuple[tuple[str, str], ...], ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class Service:
    """One model before and after a change of its service: `prompt_positions` of prompts of `prompt_tokens` each, read
    at once, and `windows` pieces of the text, decoded step by step in slots. Zero leaves a part out."""

    before: How
    after: How
    slots_before: int = 1
    slots_after: int = 1
    prompt_tokens: int = 0
    prompt_positions: int = 0
    windows: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """The KV types are those of answers, and the baseline's of all that is compared with it; reads have their own."""

    baseline: Model
    candidate: Model | None = None
    text: Text | None = None
    reads: tuple[Read, ...] = ()
    service: Service | None = None
    chats: Chats | None = None
    threads: int | None = None  # None: the CPU quota
    kv_type: str = F16
    candidate_kv_type: str = F16


@dataclass(frozen=True, slots=True)
class Findings:
    """`tokens_differ`: the candidate cuts text differently, so there are no positions."""

    tokenizers: Mapping[str, Tokenizer]
    positions: Mapping[str, Positions]
    answers: tuple[Answer, ...] = ()
    tokens_differ: str | None = None
    seconds: float = 0.0
    engine: Mapping[str, Any] = field(default_factory=dict)


def read_logits(plan: Plan, *, timeout_s: float = TIMEOUT_S, on_progress: OnProgress | None = None) -> Findings:
    """Runs the plan in a child. Raises ModelError, EngineError, NoLogits, MissingExtraError."""
    started = time.monotonic()
    library, version = _library()
    argv = [sys.executable, "-P", "-m", "paretoken.verification.logits_child"]
    tokenizers: dict[str, Tokenizer] = {}
    found: dict[str, list[dict[str, Any]]] = {}
    answers: list[Answer] = []
    tokens_differ = None
    loading = BASELINE
    finished = False
    seen = _Seen(plan, on_progress)
    try:
        with closing(events_of(argv, _as_json(plan, library), timeout_s, _PATIENT)) as events:
            for event in events:
                match event["event"]:
                    case "loading":
                        loading = event["model"]
                    case "identity":
                        tokenizers[event["model"]] = Tokenizer.from_event(event)
                    case "positions":
                        found.setdefault(event["read"], []).append(event)
                    case "answer":
                        answers.append(_answer(event))
                    case "error" if event["kind"] == "tokens":
                        tokens_differ, finished = str(event["message"]), True
                    case "error":
                        raise _error(plan, event)
                    case "done":
                        finished = True
                seen.event(event)
                if len(tokenizers) == 2 and not tokenizers[BASELINE].same_tokens(tokenizers[CANDIDATE]):
                    tokens_differ, finished = "the token maps differ", True
                    break
    except ChildFailed as error:
        raise EngineError(f"comparing with {_name(plan, loading)}, the engine's process {error}") from error
    if not finished:
        raise EngineError(f"comparing with {_name(plan, loading)}, the engine's process ended without an answer")
    positions = {name: Positions.from_events(events) for name, events in found.items()}
    engine = {"wheel": f"xllamacpp {version}", "threads": _threads(plan)}
    return Findings(tokenizers, positions, tuple(answers), tokens_differ, time.monotonic() - started, engine)


def _library() -> tuple[str, str]:
    """The engine's shared object, found without importing it, and its version."""
    spec = util.find_spec("xllamacpp")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("comparing two models", "local")
    version = metadata.version("xllamacpp")
    if version != PINNED:
        raise NoLogits(f"logits are read from xllamacpp {PINNED} only, here is {version}; install that build")
    for folder in spec.submodule_search_locations:
        for path in sorted(Path(folder).glob("xllamacpp*.so")):
            return str(path), version
    raise NoLogits(f"xllamacpp {version} has no shared object whose C interface can be read on {sys.platform}")


def _threads(plan: Plan) -> int:
    return cpu_quota() if plan.threads is None else plan.threads


def _as_json(plan: Plan, library: str) -> dict[str, Any]:
    text = plan.text
    common: dict[str, Any] = {
        "threads": _threads(plan),
        "kv_types": {BASELINE: plan.kv_type, CANDIDATE: plan.candidate_kv_type},
    }
    if text is not None:
        common |= {"documents": [d.text for d in text.documents], "window_positions": text.window_positions}
    return {
        "library": library,
        "baseline": plan.baseline.path,
        "candidate": None if plan.candidate is None else plan.candidate.path,
        "compare": {**common, "reads": [asdict(read) for read in plan.reads]} if plan.reads else None,
        "service": None if plan.service is None else {**common, **asdict(plan.service)},
        "answers": None if plan.chats is None else {**common, **asdict(plan.chats)},
    }


class _Seen:
    """Turns events into a line of progress."""

    def __init__(self, plan: Plan, tell: OnProgress | None) -> None:
        self._tell = tell
        self._reads: Sequence[Read] = plan.reads
        self._text = plan.text
        self._done = 0
        self._total = 0

    def event(self, event: Mapping[str, Any]) -> None:
        if self._tell is None:
            return
        match event["event"]:
            case "loading":
                self._tell(f"loading the {event['model']}")
            case "windows":
                windows = max(1, event["windows"])
                share = sum(min(read.windows, windows) for read in self._reads) / windows if self._reads else 1
                self._done, self._total = 0, round(event["positions"] * share)
            case "positions":
                self._done += len(event["kld"])
                self._tell(f"{self._done:,} of {self._total:,} positions")
            case "answer":
                self._tell(f"answer {event['prompt'] + 1} of the {event['model']}")


def _answer(event: Mapping[str, Any]) -> Answer:
    return Answer(
        model=event["model"],
        prompt=event["prompt"],
        tokens=tuple(event["tokens"]),
        gaps=tuple(event["gaps"]),
        text=event["text"],
        ended=event["ended"],
        templated=event["templated"],
    )


def _name(plan: Plan, which: str) -> str:
    model = plan.candidate if which == CANDIDATE and plan.candidate is not None else plan.baseline
    return f"'{Path(model.path).name}'"


def _error(plan: Plan, event: Mapping[str, Any]) -> EngineError | ModelError:
    if event["kind"] == "layout":
        return NoLogits(f"xllamacpp {PINNED} does not look as it should: {event['message']}; reinstall that build")
    which = event["model"]
    if which:
        return ModelError(f"{_name(plan, which)} is of no use: {event['message']}; check the file")
    return EngineError(f"the engine could not compare: {event['message']}")
