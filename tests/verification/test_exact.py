import numpy as np
import pytest

from paretoken.verification.exact import more_often


@pytest.mark.parametrize(
    ("hits", "of", "base_hits", "base_of"),
    [(8, 10, 1, 9), (1, 83, 0, 83), (0, 50, 20, 50), (35, 83, 27, 90), (3, 3, 0, 3), (120, 2000, 100, 2000)],
)
def test_it_is_fishers_test(hits: int, of: int, base_hits: int, base_of: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    table = [[hits, of - hits], [base_hits, base_of - base_hits]]
    expected = stats.fisher_exact(table, alternative="greater").pvalue
    assert more_often(hits, of, base_hits, base_of) == pytest.approx(expected, rel=1e-9)


def test_the_lady_tasting_tea() -> None:
    assert more_often(4, 4, 0, 4) == pytest.approx(1 / 70)


def test_nothing_hit_proves_nothing() -> None:
    assert more_often(0, 0, 0, 0) == 1.0
    assert more_often(0, 40, 0, 40) == 1.0


def test_more_hits_than_tries_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="more hits"):
        more_often(5, 4, 0, 1)


def test_it_cries_wolf_at_most_once_in_twenty() -> None:
    random = np.random.default_rng(3)
    pairs = random.binomial(90, 0.4, size=(2000, 2))
    assert np.mean([more_often(int(a), 90, int(b), 90) < 0.05 for a, b in pairs]) <= 0.05
