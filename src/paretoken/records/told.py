"""What run.json tells a report: the load that was run, the stated SLO and price, and the doubts about it. Checked,
because anybody may edit it.

In: a run's directory. Out: a Told, or a CaptureError of one sentence.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from paretoken.core.objective import Load
from paretoken.errors import CaptureError
from paretoken.records.store import RunDir


@dataclass(frozen=True, slots=True)
class Told:
    load: Load
    slo: str | None  # in the words of metrics/slo.py
    price: Mapping[str, Any] | None  # as metrics/cost.py wrote it
    doubts: tuple[Mapping[str, Any], ...]


class _Load(msgspec.Struct, frozen=True):
    concurrency: Annotated[int, msgspec.Meta(ge=1)] | None = None
    rate_per_s: Annotated[float, msgspec.Meta(gt=0)] | None = None


class _Doubt(msgspec.Struct, frozen=True):
    name: str
    seen: str
    why: str = ""
    do: str = ""


class _Price(msgspec.Struct, frozen=True):
    price_per_hour: Annotated[float, msgspec.Meta(gt=0, le=1e6)]
    currency: str
    source: str
    as_of: str


class _Run(msgspec.Struct, frozen=True):
    load: _Load
    slo: str | None = None
    price: _Price | None = None
    doubts: tuple[_Doubt, ...] = ()


def told_of(run: RunDir) -> Told:
    """Raises CaptureError, which says how the capture can still be read."""
    instead = f"paretoken replay {run.id} still reads its capture"
    if not run.run_path.exists():
        raise CaptureError(f"{run.run_path} is not there, because the run was cut off before its end; {instead}")
    try:
        found = msgspec.convert(run.run(), _Run)
        load = Load(found.load.concurrency, found.load.rate_per_s)
    except CaptureError as error:
        raise CaptureError(f"{error}; {instead}") from error
    except ValueError as error:  # msgspec's ValidationError is one
        raise CaptureError(
            f"{run.run_path} does not say which load was run and with which doubts: {error}; {instead}"
        ) from error
    price = None if found.price is None else msgspec.to_builtins(found.price)
    return Told(load, found.slo, price, tuple(msgspec.to_builtins(doubt) for doubt in found.doubts))
