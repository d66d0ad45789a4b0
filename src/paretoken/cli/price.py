"""`--price-per-hour`: what an hour of the machine costs, as the verbs that speak of cost take it."""

import math
from typing import TYPE_CHECKING

import click

from paretoken.errors import UsageError

if TYPE_CHECKING:
    from paretoken.metrics.cost import Price

price_option = click.option(
    "--price-per-hour", type=click.FloatRange(0, 1e6, min_open=True), help="Of this machine, for cost in money."
)


def price_of(per_hour: float | None) -> "Price | None":
    """Raises UsageError for what is no number of USD."""
    from datetime import UTC, datetime

    from paretoken.metrics.cost import Price

    if per_hour is None:
        return None
    if not math.isfinite(per_hour):
        raise UsageError(f"--price-per-hour {per_hour} is no price; give a number of USD")
    return Price(per_hour, "USD", "--price-per-hour", datetime.now(UTC).date().isoformat())
