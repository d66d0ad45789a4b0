"""One ask, before it is sent."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Message:
    role: str  # system | user | assistant
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the answer is drawn. `ignore_eos` fixes the work of a performance run (decision rule 2)."""

    max_tokens: int
    temperature: float = 0.0
    seed: int = 0
    ignore_eos: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One turn of one session.

    A turn after the first carries, in `messages`, the assistant text that the *workload* declares, not what the
    engine said: every candidate then does equal work.
    """

    id: int  # 0, 1, 2 … within the run
    session: int
    turn: int  # 0 is the first
    messages: tuple[Message, ...]
    sampling: Sampling
    think_s: float = 0.0  # pause after the previous turn (or, in a closed loop, after the slot became free)
    warmup: bool = False  # sent and recorded, never in the measured sample


@dataclass(frozen=True, slots=True)
class Workload:
    """What is asked: the requests, in the order in which sessions become due, and what the workload declares.

    `shared_prefix_tokens` is the declared common prefix (approximate, 0 = none): sharing that a prompt cache may use
    openly. `digest` is a SHA-256 over the content, part of a trial's key.
    """

    name: str
    requests: tuple[Request, ...]
    shared_prefix_tokens: int
    seed: int
    digest: str
