import json
import math
from importlib import metadata

import numpy as np
import pytest

from paretoken.core.candidate import Model
from paretoken.errors import EngineError
from paretoken.verification import topk
from paretoken.verification.topk import TopK, judge_top_k, lower_and_estimate
from paretoken.verification.verify import verify


def log_probs(logits: np.ndarray[tuple[int], np.dtype[np.float64]], top: int) -> dict[int, float]:
    logs = logits - np.log(np.exp(logits).sum())
    return {int(token): float(logs[token]) for token in np.argsort(-logs)[:top]}


def test_the_lower_bound_is_one_and_the_estimate_is_right_when_everything_is_returned() -> None:
    random = np.random.default_rng(1)
    for noise in (0.05, 0.5, 2.0):
        p = random.normal(size=500) * 3
        q = p + random.normal(size=500) * noise
        everything_p, everything_q = log_probs(p, 500), log_probs(q, 500)
        truth = sum(math.exp(a) * (a - everything_q[t]) for t, a in everything_p.items())
        assert lower_and_estimate(everything_p, everything_q) == pytest.approx((truth, truth), abs=1e-9)
        for top in (20, 100, 400):
            low, near = lower_and_estimate(log_probs(p, top), log_probs(q, top))
            assert 0 <= low <= truth + 1e-12
            assert low <= near


def test_the_lower_bound_holds_when_the_server_rounds() -> None:
    """What is left of q is as small as single precision's rounding: it must not be taken at its word."""
    p = log_probs(np.log(np.array([0.9, 0.099, 0.001])), 2)
    for rest in (1e-7, 1e-6):
        q = np.log(np.array([0.9, 0.1 - rest, rest]))
        truth = sum(math.exp(a) * (a - q[t]) for t, a in {**p, 2: math.log(0.001)}.items())
        off = {0: float(q[0]), 1: float(q[1]) + 2 * rest}
        assert 0 < lower_and_estimate(p, off)[0] <= truth


def test_the_estimate_is_no_upper_bound() -> None:
    """The candidate all but rules out the token that the baseline thinks likely: no list of best tokens shows it."""
    base = {0: math.log(0.5), 1: math.log(0.5)}
    candidate = {0: math.log(0.99), 2: math.log(0.01 - 1e-9)}
    truth = 0.5 * math.log(0.5 / 0.99) + 0.5 * math.log(0.5 / 1e-9)
    low, near = lower_and_estimate(base, candidate)
    assert low <= near < truth


def test_equal_lists_are_at_distance_zero() -> None:
    some = log_probs(np.arange(50.0), 10)
    assert lower_and_estimate(some, some) == pytest.approx((0.0, 0.0), abs=1e-12)


@pytest.mark.parametrize("which", [0, 1])
def test_a_probability_that_is_no_number_is_not_swallowed(which: int) -> None:
    lists = [{0: math.log(0.5), 1: math.log(0.5)}, {0: math.log(0.5), 1: math.log(0.5)}]
    lists[which][1] = math.nan
    assert all(map(math.isnan, lower_and_estimate(*lists)))


def spread(lower: float, estimate: float, documents: int = 8) -> TopK:
    noise = np.random.default_rng(2).uniform(0.9, 1.1, 256)
    return TopK(np.arange(256) * documents // 256, lower * noise, estimate * noise, np.ones(256))


@pytest.mark.parametrize(
    ("lower", "estimate", "verdict"),
    [
        (0.05, 0.09, "changed"),
        (0.01003, 0.02, "inconclusive"),  # the lower bound's own interval reaches into the margin
        (0.001, 0.05, "inconclusive"),
        (0.001, 0.002, "inconclusive"),  # an estimate inside the margin shows nothing
        (0.0, 0.0, "inconclusive"),
    ],
)
def test_only_the_lower_bound_carries_a_verdict(lower: float, estimate: float, verdict: str) -> None:
    found = judge_top_k(spread(lower, estimate), margin_nat=0.01)
    assert found.verdict == verdict
    assert "at least" in found.reason
    document = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert document["kld"]["ci95"] is None
    assert document["kld_lower"]["value"] == pytest.approx(lower, rel=0.02)
    assert document["smallest_detectable"] is None


def test_one_document_shows_no_scatter() -> None:
    assert judge_top_k(spread(0.05, 0.09, documents=1), margin_nat=0.01).verdict == "inconclusive"


def test_what_is_not_a_number_fails() -> None:
    found = spread(0.001, 0.001)
    found.estimate[9] = math.nan
    assert "position 9" in judge_top_k(found, margin_nat=0.01).reason
    assert judge_top_k(found, margin_nat=0.01).verdict == "fail"


@pytest.mark.parametrize(
    "reply", [(500, b"{}"), (200, b"[1]"), (200, b"<html>"), (200, b'{"completion_probabilities": []}')]
)
def test_a_server_that_answers_otherwise_is_one_sentence(
    reply: tuple[int, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topk, "exchange", lambda *_, **__: (reply[0], "application/json", reply[1]))
    with pytest.raises(EngineError, match="the engine's server"):
        list(topk._lists("http://127.0.0.1:1", [[1, 2, 3]]))
    with pytest.raises(EngineError, match="the engine's server"):
        topk._tokens("http://127.0.0.1:1", "text")


@pytest.mark.engine
def test_another_build_falls_back_to_the_server(smollm2: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same file on both sides: the estimate is 0 up to rounding, which shows nothing, and the evidence is named."""
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "2027.1.1" if name == "xllamacpp" else real(name))
    monkeypatch.setattr(topk, "MOST_POSITIONS", 12)
    found = verify(smollm2, smollm2, positions=64)
    assert found.evidence == "top_k"
    assert found.behaviour.positions == 12
    assert found.verdict == "inconclusive"
    assert found.behaviour.kld is not None and found.behaviour.kld.value < 1e-6
    assert "2027.1.1" in found.engine["why_not_logits"]
