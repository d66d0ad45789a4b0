"""Goodput: how many of the attempted requests met every limit of the SLO.

Enter: records and an SLO. Leave: shares of *attempted*, so that failing fast is never rewarded. `ttft` in an SLO means
`ttft_from_due`, what a user feels. A metric that is missing is not met.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretoken.core.record import Record
from paretoken.metrics.bootstrap import ratio_interval, too_few
from paretoken.metrics.figures import Scalar
from paretoken.metrics.latency import measured
from paretoken.metrics.quantiles import unanimous_bound
from paretoken.units import ms


@dataclass(frozen=True, slots=True)
class Slo:
    """Limits in seconds for each single request; None: no limit. All given limits must hold for the same request."""

    ttft_s: float | None = None  # from the due moment
    ttfa_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None

    def as_json(self) -> dict[str, Any]:
        return {f"{name}_ms": ms(limit) for name, limit in self._limits().items()}

    def _limits(self) -> dict[str, float]:
        given = {"ttft": self.ttft_s, "ttfa": self.ttfa_s, "tpot": self.tpot_s, "e2e": self.e2e_s}
        return {name: limit for name, limit in given.items() if limit is not None}

    def met_by(self, record: Record) -> bool:
        if record.outcome != "ok":
            return False
        values = ((_VALUE[name](record), limit) for name, limit in self._limits().items())
        return all(value is not None and value <= limit for value, limit in values)


_VALUE: dict[str, Callable[[Record], float | None]] = {
    "ttft": lambda r: r.ttft_from_due_s,
    "ttfa": lambda r: r.ttfa_s,
    "tpot": lambda r: r.tpot_s,
    "e2e": lambda r: r.e2e_s,
}


def attempted(records: Sequence[Record]) -> list[Record]:
    return [record for record in measured(records) if record.outcome != "cancelled"]


def good(records: Sequence[Record], slo: Slo) -> list[Record]:
    return [record for record in measured(records) if slo.met_by(record)]


def share(blocks: Sequence[Sequence[Record]], counts: Callable[[Record], bool], seed: int) -> Scalar:
    """The share of these records that `counts`. Interval: bootstrap over requests (sessions when multi-turn); where all
    or none count no resample differs, and the exact binomial bound is taken."""
    units: dict[tuple[int, int], list[bool]] = {}
    for index, block in enumerate(blocks):
        turns = len({record.session for record in block}) < len(block)
        for record in block:
            key = record.session if turns else record.request_id
            units.setdefault((index, key), []).append(counts(record))
    if not units:
        return Scalar.unknown("nothing was attempted")
    numerators = np.array([sum(unit) for unit in units.values()], dtype=np.float64)
    denominators = np.array([len(unit) for unit in units.values()], dtype=np.float64)
    n = len(units)
    value = float(numerators.sum() / denominators.sum())
    if value in (0.0, 1.0):
        edge = unanimous_bound(n)
        return Scalar(value, (0.0, 1 - edge) if value == 0.0 else (edge, 1.0))
    interval = ratio_interval(numerators, denominators, seed)
    return Scalar(value, interval, {} if interval is not None else {"ci95": too_few(n, "requests")})


def goodput_share(blocks: Sequence[Sequence[Record]], slo: Slo | None, seed: int) -> Scalar:
    """Good/attempted. What the run's own end cancelled was not attempted to its end, so it is neither."""
    if slo is None:
        return Scalar.unknown("no SLO was stated")
    return share([attempted(block) for block in blocks], slo.met_by, seed)


def goodput_req_s(share: Scalar, attempted: int, duration_s: float) -> Scalar:
    """Good requests / duration, from their share of the attempted ones."""
    if share.value is None:
        return Scalar(None, None, dict(share.reasons))
    if duration_s <= 0:
        return Scalar.unknown("the run has no length")
    per_s = attempted / duration_s
    ends = None if share.ci95 is None else tuple(None if end is None else end * per_s for end in share.ci95)
    return Scalar(share.value * per_s, None if ends is None else (ends[0], ends[1]), dict(share.reasons))
