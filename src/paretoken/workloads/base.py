"""What every workload is made of: requests numbered in the order they are asked, and a digest over their content.

Enters: the turns of each session. Leaves: a frozen core Workload. Knows neither when anything is sent nor to whom.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paretoken.core.candidate import digest_of
from paretoken.core.request import Message, Request, Sampling, Workload
from paretoken.errors import UsageError


@dataclass(frozen=True, slots=True)
class Session:
    """The turns of one conversation; each turn is the whole list of messages that is sent for it."""

    turns: tuple[tuple[Message, ...], ...]
    warmup: bool = False


@dataclass(frozen=True, slots=True)
class Lengths:
    """How much is asked. Warm-up requests come first and may ask for a shorter answer of their own."""

    requests: int  # measured ones: turns, not sessions
    output_tokens: int
    warmup: int = 0
    warmup_output_tokens: int | None = None  # None: as the measured ones

    def __post_init__(self) -> None:
        if self.requests < 1:
            raise UsageError(f"a workload needs at least one request, not {self.requests}")
        if self.output_tokens < 1:
            raise UsageError(f"an answer needs at least one token, not {self.output_tokens}")
        if self.warmup < 0:
            raise UsageError(f"the number of warm-up requests cannot be {self.warmup}")
        if self.warmup_output_tokens is not None and self.warmup_output_tokens < 1:
            raise UsageError(f"a warm-up answer needs at least one token, not {self.warmup_output_tokens}")

    def tokens(self, warmup: bool) -> int:
        return self.warmup_output_tokens or self.output_tokens if warmup else self.output_tokens


def workload_of(
    name: str,
    sessions: Iterable[Session],
    lengths: Lengths,
    *,
    seed: int,
    ignore_eos: bool,
    shared_prefix_tokens: int = 0,
) -> Workload:
    requests: list[Request] = []
    for number, session in enumerate(sessions):
        sampling = Sampling(lengths.tokens(session.warmup), seed=seed, ignore_eos=ignore_eos)
        for turn, messages in enumerate(session.turns):
            requests.append(Request(len(requests), number, turn, messages, sampling, warmup=session.warmup))
    return Workload(name, tuple(requests), shared_prefix_tokens, seed, _digest(requests))


def _digest(requests: Sequence[Request]) -> str:
    """SHA-256 over everything that is sent and in which order: equal work, equal digest."""
    content = [
        [
            request.session,
            request.turn,
            request.warmup,
            request.think_s,
            [[message.role, message.content] for message in request.messages],
            [
                request.sampling.max_tokens,
                request.sampling.temperature,
                request.sampling.seed,
                request.sampling.ignore_eos,
            ],
        ]
        for request in requests
    ]
    return digest_of(content)
