"""Cost: throughput's other face.

Enter: token rates, and a price if there is one. Leave: money (or, without a price, seconds of this machine) for a
million tokens; the denominator is always named: output, input, total or good tokens. A cost is never blank: it is a
number or null with the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paretoken.metrics.figures import Scalar
from paretoken.metrics.quantiles import Ends

MILLION = 1_000_000
SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Price:
    """What an hour of the machine costs, who says so, and when: 2.5, 'USD', 'example.com/prices', '2026-11-30'."""

    per_hour: float
    currency: str
    source: str
    as_of: str

    def as_json(self) -> dict[str, Any]:
        return {
            "price_per_hour": self.per_hour,
            "currency": self.currency,
            "source": self.source,
            "as_of": self.as_of,
        }


def price_from(stored: Mapping[str, Any]) -> Price:
    """What `Price.as_json` wrote."""
    return Price(float(stored["price_per_hour"]), stored["currency"], stored["source"], stored["as_of"])


def cost_per_mtok(price_per_hour: float, tok_s: float) -> float:
    """$/h ÷ (tok/s·3600) × 10⁶."""
    return price_per_hour / (tok_s * SECONDS_PER_HOUR) * MILLION


def machine_s_per_mtok(tok_s: float) -> float:
    """Seconds of the machine for a million tokens: the cost when no price is known."""
    return MILLION / tok_s


def cost_of(rate: Scalar, price: Price | None) -> Scalar:
    """The cost behind a token rate; its interval is the rate's, turned round."""
    if rate.value is None:
        return Scalar(None, None, dict(rate.reasons))
    if rate.value <= 0:
        return Scalar.unknown("no token came, so no number of tokens has a cost")
    ends: Ends | None = None
    if rate.ci95 is not None:
        low, high = rate.ci95
        ends = (_of(high, price), _of(low, price))
    return Scalar(_of(rate.value, price), ends, dict(rate.reasons))


def _of(tok_s: float | None, price: Price | None) -> float | None:
    if tok_s is None or tok_s <= 0:
        return None
    return machine_s_per_mtok(tok_s) if price is None else cost_per_mtok(price.per_hour, tok_s)
