import numpy as np
import pytest
from numpy.typing import NDArray

from paretoken.verification.distance import Reference


def in_float64(p: NDArray[np.float32], q: NDArray[np.float32]) -> NDArray[np.float64]:
    """The formula, one row at a time, in float64 throughout."""
    rows = []
    for a, b in zip(p.astype(np.float64), q.astype(np.float64), strict=True):
        log_p = a - a.max() - np.log(np.exp(a - a.max()).sum())
        log_q = b - b.max() - np.log(np.exp(b - b.max()).sum())
        rows.append(float((np.exp(log_p) * (log_p - log_q)).sum()))
    return np.array(rows)


@pytest.mark.parametrize(("noise", "offset"), [(0.02, 0.0), (0.2, 5.0), (1.0, -30.0), (4.0, 100.0)])
def test_kld_is_exact_far_below_what_is_judged(noise: float, offset: float) -> None:
    """Against float64, on a real vocabulary's size, peaked and flat rows, and logits that are shifted as a whole."""
    random = np.random.default_rng(7)
    p = (random.normal(size=(60, 49_152)) * 3).astype(np.float32)
    p[np.arange(40), random.integers(0, 49_152, 40)] += random.uniform(5, 25, 40).astype(np.float32)
    q = (p + random.normal(size=p.shape) * noise + offset).astype(np.float32)
    found = Reference(p.copy(), np.zeros(60, dtype=np.int64)).distances(q)
    assert np.abs(found.kld - in_float64(p, q)).max() < (1e-6 if offset < 100 else 1e-5)


def test_what_is_said_of_one_position() -> None:
    p, q = np.log([[0.7, 0.2, 0.1]]).astype(np.float32), np.log([[0.25, 0.5, 0.25]]).astype(np.float32)
    found = Reference(p.copy(), np.array([2])).distances(q)
    assert found.log_ratio[0] == pytest.approx(np.log(0.1 / 0.25), abs=1e-6)
    assert found.delta_p[0] == pytest.approx(0.15, abs=1e-6)
    assert found.base_nll[0] == pytest.approx(-np.log(0.1), abs=1e-6)
    assert found.gap[0] == pytest.approx(np.log(0.7 / 0.2), abs=1e-6)
    assert (found.base_top[0], found.top[0]) == (0, 1)


def test_the_same_logits_are_at_distance_zero_exactly() -> None:
    p = np.random.default_rng(1).normal(size=(9, 1000)).astype(np.float32)
    found = Reference(p.copy(), np.arange(9)).distances(p.copy())
    assert not found.kld.any()
    assert not found.log_ratio.any()
    assert not found.delta_p.any()


def test_only_the_named_rows_are_compared() -> None:
    random = np.random.default_rng(2)
    p = random.normal(size=(30, 50)).astype(np.float32)
    q = random.normal(size=(30, 50)).astype(np.float32)
    reference = Reference(p.copy(), np.arange(30))
    whole, part = reference.distances(q), reference.distances(q[11:19], slice(11, 19))
    assert np.array_equal(part.kld, whole.kld[11:19])
    assert np.array_equal(part.log_ratio, whole.log_ratio[11:19])
    assert np.array_equal(part.base_top, whole.base_top[11:19])


def test_a_nan_stays_in_its_row() -> None:
    p = np.random.default_rng(3).normal(size=(12, 40)).astype(np.float32)
    q = p.copy()
    q[5, 17] = np.nan
    found = Reference(p.copy(), np.arange(12)).distances(q)
    assert np.isnan(found.kld[5])
    assert np.isfinite(np.delete(found.kld, 5)).all()


def test_a_token_that_the_baseline_rules_out_adds_nothing() -> None:
    minus = -np.inf
    p = np.array([[0.0, 1.0, minus, 2.0]], dtype=np.float32)
    q = np.array([[0.5, 1.0, minus, 1.0]], dtype=np.float32)
    expected = in_float64(p[:, [0, 1, 3]], q[:, [0, 1, 3]])
    assert Reference(p.copy(), np.array([1])).distances(q).kld == pytest.approx(expected, abs=1e-6)


def test_a_token_that_only_the_candidate_rules_out_is_infinitely_far() -> None:
    p = np.array([[0.0, 1.0, 2.0]], dtype=np.float32)
    q = np.array([[0.0, 1.0, -np.inf]], dtype=np.float32)
    assert np.isposinf(Reference(p.copy(), np.array([1])).distances(q).kld[0])


def test_rows_that_only_pad_the_vocabulary_are_left_out() -> None:
    random = np.random.default_rng(4)
    p, q = (random.normal(size=(6, 100)).astype(np.float32) for _ in range(2))
    padded = np.concatenate([q, np.full((6, 28), -60, dtype=np.float32)], axis=1)
    reference = Reference(p.copy(), np.arange(6))
    assert reference.distances(padded).kld == pytest.approx(reference.distances(q).kld, abs=1e-9)
