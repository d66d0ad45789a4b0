"""Decision rule 7: how far a candidate's behaviour lies from the baseline's, and whether that is inside the margin.

Enter positions (teacher-forced, whole vocabulary), the margin and the numerics floor; leaves a frozen `Behaviour` with
its verdict: equivalent, changed_small, changed, inconclusive or fail. Pure: no engine, no file, no clock.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from paretoken.errors import UsageError
from paretoken.verification.blocks import Mean, block_mean, block_share
from paretoken.verification.positions import Floats, Positions

MARGIN_NAT = 0.01
PASSES = ("equivalent", "changed_small")

# A difference of (z₀.₉₇₅ + z₀.₈) standard errors is found four times in five.
_DETECT = 1.959964 + 0.841621
_P99_FROM = 100
_MARGIN = re.compile(r"\s*kld\s*<=?\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*")


@dataclass(frozen=True, slots=True)
class Behaviour:
    """`floor_nat` is the largest upper 95 % end of mean KLD among the floor's own changes; None: not measured.
    `positions_to_settle` is how many positions would settle an `inconclusive`; None: no number would, or none needed.
    `kld_lower` is only there when `kld` is an estimate (top-k evidence): the mean KLD is at least that.
    """

    verdict: str
    reason: str
    margin_nat: float
    floor_nat: float | None
    positions: int
    documents: int
    kld: Mean | None = None
    kld_lower: Mean | None = None
    kld_median: float | None = None
    kld_p99: float | None = None
    kld_max: float | None = None
    ppl_ratio: Mean | None = None
    base_perplexity: float | None = None
    same_top: Mean | None = None
    delta_p_rms: float | None = None
    positions_to_settle: int | None = None
    slices: Mapping[str, Any] = field(default_factory=dict)

    @property
    def passes(self) -> bool:
        return self.verdict in PASSES

    @property
    def smallest_detectable(self) -> float | None:
        """The smallest difference of mean KLD (nats) that this many positions find four times in five."""
        return None if self.kld is None or self.kld.se is None else _DETECT * self.kld.se

    def as_json(self) -> dict[str, Any]:
        kld = None
        if self.kld is not None:
            spread = {"median": self.kld_median, "p99": self.kld_p99, "max": self.kld_max}
            kld = {**self.kld.as_json(), **spread}
        ratio = self.ppl_ratio
        candidate = None if ratio is None or self.base_perplexity is None else self.base_perplexity * ratio.value
        return {
            "verdict": self.verdict,
            "reason": self.reason,
            "kld": kld,
            "kld_lower": None if self.kld_lower is None else self.kld_lower.as_json(),
            "same_top": None if self.same_top is None else self.same_top.as_json(),
            "ppl_ratio": None if ratio is None else ratio.as_json(),
            "perplexity": {"baseline": self.base_perplexity, "candidate": candidate},
            "delta_p_rms": self.delta_p_rms,
            "margin_nat": self.margin_nat,
            "floor_nat": self.floor_nat,
            "smallest_detectable": self.smallest_detectable,
            "positions": self.positions,
            "documents": self.documents,
            "positions_to_settle": self.positions_to_settle,
            "slices": dict(self.slices),
        }


def judge(
    found: Positions,
    *,
    margin_nat: float = MARGIN_NAT,
    floor_nat: float | None = None,
    kinds: Mapping[int, str] | None = None,
) -> Behaviour:
    """`kinds` names each document's slice; every slice is described, none is judged by itself."""
    if len(found) == 0:
        return failed("no position could be compared", margin_nat=margin_nat, floor_nat=floor_nat)
    if found.first_broken is not None:
        at = found.first_broken
        reason = f"the distance at position {at} (document {found.document[at]}) is not a number"
        return Behaviour("fail", reason, margin_nat, floor_nat, len(found), found.documents)
    kld = kld_mean(found)
    verdict, reason, settle = rule_7(kld, len(found), margin_nat, floor_nat)
    log_ratio = block_mean(found.log_ratio, found.document)
    return Behaviour(
        verdict=verdict,
        reason=reason,
        margin_nat=margin_nat,
        floor_nat=floor_nat,
        positions=len(found),
        documents=found.documents,
        kld=kld,
        kld_median=float(np.median(found.kld)),
        kld_p99=float(np.quantile(found.kld, 0.99)) if len(found) >= _P99_FROM else None,
        kld_max=float(found.kld.max()),
        ppl_ratio=log_ratio.exp(),
        base_perplexity=perplexity(found.base_nll),
        same_top=block_share(found.same_top, found.document),
        delta_p_rms=float(np.sqrt(np.mean(found.delta_p**2))),
        positions_to_settle=settle,
        slices=_slices(found, kinds or {}),
    )


def failed(reason: str, *, margin_nat: float, floor_nat: float | None = None) -> Behaviour:
    """A candidate that is not the baseline's model any more, whatever its distances: rule 7's `fail`."""
    return Behaviour("fail", reason, margin_nat, floor_nat, positions=0, documents=0)


def kld_mean(found: Positions) -> Mean:
    """Mean KLD over documents. It can't lie below 0, so neither does its interval."""
    mean = block_mean(found.kld, found.document)
    if mean.low is None:
        return mean
    return Mean(mean.value, mean.se, max(0.0, mean.low), mean.high)


def perplexity(nll: Floats) -> float | None:
    """e^mean of −ln p; None when any of them is not a number: a NaN must not pass as "not worse"."""
    if len(nll) == 0 or not np.isfinite(nll).all():
        return None
    return math.exp(float(nll.mean()))


def parse_margin(text: str) -> float:
    """'kld < 0.05' → 0.05 nats. Raises UsageError."""
    match = _MARGIN.fullmatch(text)
    margin = float(match.group(1)) if match else 0.0
    if not 0 < margin < math.inf:
        raise UsageError(f"cannot read the behaviour margin '{text}'; write it like \"kld < 0.05\" (nats)")
    return margin


def rule_7(kld: Mean, n: int, margin: float, floor: float | None) -> tuple[str, str, int | None]:
    """(verdict, reason, positions that would settle it) of a mean KLD over n positions."""
    low, high = kld.low, kld.high
    if low is None or high is None:
        return "inconclusive", "one document shows no scatter; give a longer text", None
    span = f"mean KLD {kld.value:.2g} nat (95 %: {low:.2g} to {high:.2g})"
    if low > margin:
        return "changed", f"{span} lies beyond the margin of {margin:g}", None
    if high <= margin and floor is not None and low <= floor:
        return "equivalent", f"{span} is no further than rounding alone moves the baseline ({floor:.2g})", None
    if high <= margin:
        why = f"beyond rounding ({floor:.2g})" if floor is not None else "rounding was not measured"
        return "changed_small", f"{span} lies inside the margin of {margin:g}, {why}", None
    to_go, half = abs(margin - kld.value), (high - kld.value if kld.value < margin else kld.value - low)
    # The half-width shrinks with √n; at the margin itself no number of positions is enough.
    settle = math.ceil(n * (half / to_go) ** 2) if to_go > 1e-3 * margin else None
    more = f"about {settle:,} positions would settle it" if settle else "it lies at the margin itself"
    return "inconclusive", f"{span} straddles the margin of {margin:g}; {more}", settle


def _slices(found: Positions, kinds: Mapping[int, str]) -> dict[str, Any]:
    slices = {}
    for kind in sorted(set(kinds.values())):
        of_kind = [number for number, name in kinds.items() if name == kind]
        part = found.where(np.isin(found.document, of_kind))
        if len(part):
            same_top = block_share(part.same_top, part.document)
            slices[kind] = {"positions": len(part), "kld": kld_mean(part).as_json(), "same_top": same_top.as_json()}
    return slices
