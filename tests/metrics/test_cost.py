"""Cost: never blank, always with its denominator."""

import pytest

from paretoken.metrics.cost import Price, cost_of, cost_per_mtok, machine_s_per_mtok
from paretoken.metrics.figures import Scalar

PRICE = Price(2.5, "USD", "example.com/prices", "2026-11-30")


def test_known_costs() -> None:
    assert cost_per_mtok(3.6, 1000) == pytest.approx(1.0)
    assert machine_s_per_mtok(50) == 20_000


def test_the_interval_is_turned_round() -> None:
    found = cost_of(Scalar(100.0, (50.0, 200.0)), None)
    assert (found.value, found.ci95) == (10_000.0, (5_000.0, 20_000.0))
    assert cost_of(Scalar(100.0, (0.0, None)), PRICE).ci95 == (None, None)


def test_no_tokens_no_cost() -> None:
    assert cost_of(Scalar(0.0), PRICE).reasons == {"value": "no token came, so no number of tokens has a cost"}
    assert cost_of(Scalar.unknown("no usage"), PRICE).reasons == {"value": "no usage"}


def test_a_price_says_where_it_comes_from() -> None:
    assert PRICE.as_json() == {
        "price_per_hour": 2.5,
        "currency": "USD",
        "source": "example.com/prices",
        "as_of": "2026-11-30",
    }
