import json
import math
from importlib import metadata

import numpy as np
import pytest

from paretoken.core.candidate import Model
from paretoken.errors import EngineError
from paretoken.verification import topk
from paretoken.verification.topk import Bounds, bounds, judge_bounds
from paretoken.verification.verify import verify


def log_probs(logits: np.ndarray[tuple[int], np.dtype[np.float64]], top: int) -> dict[int, float]:
    logs = logits - np.log(np.exp(logits).sum())
    return {int(token): float(logs[token]) for token in np.argsort(-logs)[:top]}


def test_the_lower_bound_is_one_and_both_meet_when_everything_is_returned() -> None:
    random = np.random.default_rng(1)
    for noise in (0.05, 0.5, 2.0):
        p = random.normal(size=500) * 3
        q = p + random.normal(size=500) * noise
        everything_p, everything_q = log_probs(p, 500), log_probs(q, 500)
        truth = sum(math.exp(a) * (a - everything_q[t]) for t, a in everything_p.items())
        assert bounds(everything_p, everything_q) == pytest.approx((truth, truth), abs=1e-9)
        for top in (20, 100, 400):
            low, high = bounds(log_probs(p, top), log_probs(q, top))
            assert 0 <= low <= truth + 1e-12
            assert low <= high


def test_equal_lists_are_at_distance_zero() -> None:
    some = log_probs(np.arange(50.0), 10)
    assert bounds(some, some) == pytest.approx((0.0, 0.0), abs=1e-12)


def spread(lower: float, upper: float) -> Bounds:
    noise = np.random.default_rng(2).uniform(0.9, 1.1, 256)
    return Bounds(np.arange(256) // 32, lower * noise, upper * noise, np.ones(256))


@pytest.mark.parametrize(
    ("lower", "upper", "verdict"),
    [
        (0.001, 0.002, "changed_small"),
        (0.05, 0.09, "changed"),
        (0.001, 0.05, "inconclusive"),  # the bounds are on both sides of the margin
        (0.0, 0.0, "changed_small"),  # never equivalent: rounding is not known
    ],
)
def test_both_bounds_must_agree(lower: float, upper: float, verdict: str) -> None:
    found = judge_bounds(spread(lower, upper), margin_nat=0.01)
    assert found.verdict == verdict
    assert "bounds" in found.reason
    json.dumps(found.as_json(), allow_nan=False)


def test_what_is_not_a_number_fails() -> None:
    found = spread(0.001, 0.001)
    found.upper[9] = math.nan
    assert "position 9" in judge_bounds(found, margin_nat=0.01).reason
    assert judge_bounds(found, margin_nat=0.01).verdict == "fail"


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
    """The same file on both sides: both bounds are 0 up to rounding, and the evidence is named."""
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "2027.1.1" if name == "xllamacpp" else real(name))
    monkeypatch.setattr(topk, "MOST_POSITIONS", 12)
    found = verify(smollm2, smollm2, positions=64)
    assert found.evidence == "top_k"
    assert found.behaviour.positions == 12
    assert found.verdict == "changed_small"
    assert found.behaviour.kld is not None and found.behaviour.kld.value < 1e-6
    assert "2027.1.1" in found.engine["why_not_logits"]
