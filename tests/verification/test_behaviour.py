import json
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from paretoken.errors import UsageError
from paretoken.verification.behaviour import failed, judge, parse_margin

from .found import from_kld


def spread(mean: float, n: int = 800, sd: float = 1.0, seed: int = 0) -> NDArray[np.float64]:
    """n distances of exactly this mean, scattered like real ones."""
    values = np.random.default_rng(seed).lognormal(0, sd, n)
    scaled: NDArray[np.float64] = values * mean / values.mean()
    return scaled


@pytest.mark.parametrize(
    ("mean", "floor", "verdict"),
    [
        (0.003, 0.004, "equivalent"),
        (0.003, 0.001, "changed_small"),
        (0.003, None, "changed_small"),  # rounding was not measured: nothing is called equivalent
        (0.009, 0.0095, "inconclusive"),  # the interval straddles the margin
        (0.05, 0.004, "changed"),
        (0.05, 0.06, "changed"),  # a floor above the margin excuses nothing
    ],
)
def test_rule_7(mean: float, floor: float | None, verdict: str) -> None:
    found = judge(from_kld(spread(mean, sd=1.5), 20), margin_nat=0.01, floor_nat=floor)
    assert found.verdict == verdict
    assert found.passes == (verdict in ("equivalent", "changed_small"))


def test_the_margin_is_the_users() -> None:
    positions = from_kld(spread(0.03), 20)
    assert judge(positions, margin_nat=0.01).verdict == "changed"
    assert judge(positions, margin_nat=0.05).verdict == "changed_small"


def test_an_inconclusive_result_says_how_many_positions_would_settle_it() -> None:
    """And that many do settle it, most of the time: the whole point of saying so."""
    first = judge(from_kld(spread(0.0085, n=200, sd=1.5), 20), margin_nat=0.01)
    assert first.verdict == "inconclusive"
    assert first.positions_to_settle is not None
    assert first.positions_to_settle > 200
    assert f"{first.positions_to_settle:,}" in first.reason
    more = 2 * first.positions_to_settle
    settled = [judge(from_kld(spread(0.0085, n=more, sd=1.5, seed=s), 20)).verdict for s in range(1, 11)]
    assert settled.count("changed_small") >= 7


def test_at_the_margin_itself_no_number_of_positions_is_promised() -> None:
    found = judge(from_kld(spread(0.01, n=200), 20), margin_nat=0.01)
    assert (found.verdict, found.positions_to_settle) == ("inconclusive", None)
    assert "margin itself" in found.reason


def test_one_document_settles_nothing() -> None:
    found = judge(from_kld(spread(0.003), 1), margin_nat=0.01)
    assert found.verdict == "inconclusive"
    assert "longer text" in found.reason


def test_a_wrong_claim_is_rare() -> None:
    """A candidate exactly at the margin may be called neither changed nor inside it: 300 experiments, 5 % nominal."""
    random = np.random.default_rng(11)
    mean = math.exp(0.5)
    claims = 0
    for _ in range(300):
        values = random.lognormal(0, 1, 24 * 32)
        claims += judge(from_kld(values, 24), margin_nat=mean, floor_nat=0.0).verdict != "inconclusive"
    assert claims / 300 <= 0.08


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_a_number_fails_with_its_position(bad: float) -> None:
    values = spread(0.001, n=100)
    values[37] = bad
    found = judge(from_kld(values, 10), margin_nat=0.01)
    assert found.verdict == "fail"
    assert "position 37 (document 3)" in found.reason
    json.dumps(found.as_json(), allow_nan=False)


def test_no_positions_is_no_pass() -> None:
    assert judge(from_kld([], 1)).verdict == "fail"
    assert failed("another tokenizer", margin_nat=0.01).as_json()["kld"] is None


def test_the_summary() -> None:
    values = np.arange(200) / 1000
    found = judge(from_kld(values, 10, flips=50), margin_nat=0.01, kinds={n: "ab"[n % 2] for n in range(10)})
    document = found.as_json()
    assert document["kld"]["value"] == pytest.approx(0.0995)
    assert document["kld"]["median"] == pytest.approx(0.0995)
    assert document["kld"]["max"] == 0.199
    assert document["kld"]["p99"] == pytest.approx(np.quantile(values, 0.99))
    assert document["same_top"]["value"] == 0.75
    assert document["ppl_ratio"]["value"] == pytest.approx(math.exp(0.001))
    assert document["perplexity"]["candidate"] == pytest.approx(math.exp(2.001))
    assert document["delta_p_rms"] == pytest.approx(0.001)
    assert document["slices"]["a"]["positions"] == document["slices"]["b"]["positions"] == 100
    assert document["slices"]["a"]["kld"]["value"] < document["slices"]["b"]["kld"]["value"]
    json.dumps(document, allow_nan=False)


def test_a_p99_needs_a_hundred_positions() -> None:
    assert judge(from_kld(spread(0.001, n=99), 9)).kld_p99 is None
    assert judge(from_kld(spread(0.001, n=100), 10)).kld_p99 is not None


def test_smallest_detectable_is_2_8_standard_errors() -> None:
    found = judge(from_kld(spread(0.003), 20))
    assert found.kld is not None and found.kld.se is not None
    assert found.smallest_detectable == pytest.approx(2.8016 * found.kld.se, rel=1e-4)


@pytest.mark.parametrize(("text", "margin"), [("kld < 0.05", 0.05), ("kld<=.01", 0.01), (" kld < 1e-3 ", 0.001)])
def test_margins_as_written(text: str, margin: float) -> None:
    assert parse_margin(text) == margin


@pytest.mark.parametrize(
    "text", ["", "0.05", "kld > 0.05", "kld < 0", "kld < -1", "kld < nan", "ppl < 1.01", "kld < 1e999"]
)
def test_what_is_no_margin_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="write it like"):
        parse_margin(text)
