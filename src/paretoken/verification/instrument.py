"""What the instrument says of itself: whose clock, how many stamps are exact, how far a figure may be off, and whether
the client was the limit.

Enter the records of a run and what its load process told. Leaves an Instrument, the member `instrument` of a result.
Beyond the bound stated here there is no headline number: what was measured would then be the client.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paretoken.core.record import Record
from paretoken.metrics.bounds import exact, exact_share, least_and_most
from paretoken.metrics.latency import SPANS, answered
from paretoken.metrics.quantiles import percentile, supported
from paretoken.units import ms, show_duration, show_percent

# Arrival stamps of the kernel against the moments at which an exact server sent: p99 below this at up to 512 streams
# (benchmarks/accuracy.py, docs/LOG.md).
KERNEL_STAMP_ERROR_S = 0.0001
BOUND_S = 0.001  # a headline figure may be off by this, or by
BOUND_SHARE = 0.05  # this share of itself
ADVICE = "use fewer streams, more load processes (--workers), or a machine of its own for the client"

_HEADLINES = ("ttft", "ttft_from_due", "tpot", "itl", "e2e")
_FIGURES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def beyond_bound(records: Sequence[Record]) -> str | None:
    """Which headline figure may be off by more than BOUND_S and BOUND_SHARE allow, and by how much; None: no one."""
    ok = answered(records)
    if all(map(exact, ok)):
        return None
    worst: tuple[float, str] | None = None
    for name in _HEADLINES:
        least, seen, most = least_and_most(ok, name, SPANS[name])
        for figure, q in _FIGURES.items():
            if not len(seen) or supported(q, len(seen)) is not None:
                continue
            value = percentile(seen, q)
            off = max(value - percentile(least, q), percentile(most, q) - value)
            allowed = max(BOUND_S, BOUND_SHARE * value)
            if off > allowed and (worst is None or off / allowed > worst[0]):
                said = f"{figure} {name} is {show_duration(value)}, and may be off by {show_duration(off)}"
                worst = off / allowed, said
    if worst is None:
        return None
    share = exact_share(ok)
    return f"{worst[1]}; {show_percent(1 - (share or 0.0))} of the chunks came in a read with others"


@dataclass(frozen=True, slots=True)
class Instrument:
    receive_clock: str  # kernel | user
    transmit_clock: str  # kernel | user | both
    exact_share: float | None  # of the chunks
    lateness_p99_s: float | None
    cpu_share: float | None  # of the client's one core
    limited: str | None  # why the client was the limit

    @property
    def stamp_error_s(self) -> float | None:
        """The error of an exact stamp; None: not known, since our own clock is read when the scheduler lets us."""
        return KERNEL_STAMP_ERROR_S if self.receive_clock == "kernel" else None

    def as_json(self) -> dict[str, Any]:
        return {
            "clocks": {"receive": self.receive_clock, "transmit": self.transmit_clock},
            "stamp_error_ms": ms(self.stamp_error_s),
            "exact_share": self.exact_share,
            "lateness_p99_ms": ms(self.lateness_p99_s),
            "client_cpu_share": self.cpu_share,
            "verdict": "sound" if self.limited is None else "client limited",
            "why": self.limited,
            "advice": None if self.limited is None else ADVICE,
            "bound": f"{show_duration(BOUND_S)}, or {show_percent(BOUND_SHARE)} of the figure",
        }


def instrument_of(
    records: Sequence[Record],
    *,
    clock: str,
    facts: Mapping[str, Any],
    cpu_share: float | None,
    lateness_p99_s: float | None,
    limited: str | None,
) -> Instrument:
    """`facts` is what the load process said of its run; `limited` is what the doubt client_saturated saw."""
    return Instrument(clock, _transmit_clock(facts), exact_share(answered(records)), lateness_p99_s, cpu_share, limited)


def _transmit_clock(facts: Mapping[str, Any]) -> str:
    own, sent = facts.get("unstamped_sends"), facts.get("sends")
    if not isinstance(own, int) or not isinstance(sent, int) or own >= sent:
        return "user"
    return "both" if own else "kernel"
