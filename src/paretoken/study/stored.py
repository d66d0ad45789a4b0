"""What a step of a study has to look like. Checked when it is read, because a disk, a hand or another version may have
changed it: from here on its shape is believed.

In: a step's kind and data. Out: nothing, or a sentence (ValueError) that names the part that is wrong.
"""

from typing import Annotated, Any, Literal

import msgspec

from paretoken.core.doubt import DOUBTS
from paretoken.core.objective import GOALS

_Count = Annotated[int, msgspec.Meta(ge=0)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
_Positive = Annotated[float, msgspec.Meta(gt=0, le=1e9)]


class _Price(msgspec.Struct):
    price_per_hour: _Positive
    currency: str
    source: str
    as_of: str


class _Parameters(msgspec.Struct, rename={"purpose": "for"}):
    """`budget_s` None: trials are counted."""

    model: str
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=256)]
    output_tokens: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    budget_s: _Positive | None
    behaviour_margin_nat: _Positive
    engine: str
    seed: _Count
    price: _Price | None
    started_at: str
    purpose: str | None = None
    slo: str | None = None
    goal: str | None = None
    budget_trials: Annotated[int, msgspec.Meta(ge=1)] | None = None
    budget_given: bool = False
    strategy: str = "racing"
    workload: str = "chat"

    def __post_init__(self) -> None:
        if self.goal is not None and self.goal not in GOALS:
            raise ValueError(f"goal is '{self.goal[:40]}'")


class _Trace(msgspec.Struct):
    token_s: _Positive
    prefill_s: _Positive
    start_s: _Seconds
    trace: dict[str, Any]


class _Estimate(msgspec.Struct):
    value: float | None
    ci95: tuple[float, float] | None = None


class _Behaviour(msgspec.Struct):
    verdict: Literal["equivalent", "changed_small", "changed", "inconclusive", "fail"]
    reason: str | None = None
    kld: _Estimate | None = None
    same_top: _Estimate | None = None
    positions: _Count = 0
    doubts: list["_Doubt"] = []


class _Intact(msgspec.Struct):
    verdict: Literal["intact", "not_intact", "inconclusive"]


class _Doubt(msgspec.Struct):
    name: str
    seen: str

    def __post_init__(self) -> None:
        if self.name not in DOUBTS:
            raise ValueError(f"there is no doubt '{self.name[:40]}'")


class _Scalar(msgspec.Struct):
    value: float | None = None
    mean: float | None = None
    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    ci95: dict[str, list[float | None] | None] | list[float | None] | None = None


class _Trial(msgspec.Struct):
    state: Literal["complete", "infeasible", "crashed", "timeout", "refused", "interrupted"]
    reason: str | None
    run_ids: list[str]
    metrics: dict[str, _Scalar | None]
    doubts: list[_Doubt]
    merit: float | None = None
    seconds: _Seconds = 0.0
    memory_bytes: _Count | None = None


class _Block(msgspec.Struct):
    label: str
    block: _Count
    run_id: str
    doubts: list[_Doubt]
    clock: str
    memory_bytes: _Count | None = None


class _Planned(msgspec.Struct):
    spent_s: _Seconds


class _Searched(msgspec.Struct):
    asked: _Count
    why: str


class _Replanned(msgspec.Struct):
    positions: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    short: str | None
    ablations: _Count = 0


class _Answers(msgspec.Struct):
    pairs: list[dict[str, Any]]


class _Recheck(msgspec.Struct):
    verdict: Literal["holds", "not settled", "does not hold"]
    why: str


class _Broken(msgspec.Struct):
    reason: str


_KINDS: dict[str, type[msgspec.Struct]] = {
    "parameters": _Parameters,
    "first_look": _Trace,
    "behaviour": _Behaviour,
    "behaviour_screen": _Behaviour,
    "intact": _Intact,
    "trial": _Trial,
    "block": _Block,
    "planned": _Planned,
    "replanned": _Replanned,
    "searched": _Searched,
    "answers": _Answers,
    "broken": _Broken,
    "recheck": _Recheck,
}


def check(kind: str, data: dict[str, Any]) -> None:
    """Raises ValueError. A kind that this version does not know is left alone: nothing reads it."""
    wanted = _KINDS.get(kind)
    if wanted is not None:
        msgspec.convert(data, wanted)
