"""The shapes of figures in JSON."""

import json

import pytest

from paretoken.metrics.figures import Distribution, Scalar


def test_a_scalar_in_json() -> None:
    assert Scalar(1.5, (1.0, None), {"ci95": "why"}).as_json() == {
        "value": 1.5,
        "ci95": [1.0, None],
        "reasons": {"ci95": "why"},
    }
    assert Scalar.unknown("no").as_json() == {"value": None, "ci95": None, "reasons": {"value": "no"}}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nan_and_infinity_do_not_get_in(value: float) -> None:
    with pytest.raises(ValueError, match="number or null"):
        Scalar(value)
    with pytest.raises(ValueError, match="number or null"):
        Scalar(1.0, (0.0, value))
    with pytest.raises(ValueError, match="number or null"):
        Distribution(1, value, dict.fromkeys(("p50", "p90", "p95", "p99")), None)


def test_a_distribution_speaks_milliseconds() -> None:
    found = Distribution(
        2, 0.1, {"p50": 0.1, "p90": 0.2, "p95": 0.2, "p99": None}, 0.25, {"p50": (0.05, None)}, {"p99": "n"}, 0.001
    ).as_json()
    assert found == {
        "n": 2,
        "mean": 100.0,
        "p50": 100.0,
        "p90": 200.0,
        "p95": 200.0,
        "p99": None,
        "max": 250.0,
        "ci95": {"p50": [50.0, None]},
        "reasons": {"p99": "n"},
        "error_bound_ms": 1.0,
        "bounds_ms": {},
    }


def test_an_unknown_distribution_says_why_everywhere() -> None:
    found = Distribution.unknown("nothing came").as_json()
    json.dumps(found, allow_nan=False)
    assert found["n"] == 0
    assert {found[name] for name in ("mean", "p50", "p90", "p95", "p99", "max")} == {None}
    assert set(found["reasons"].values()) == {"nothing came"}
