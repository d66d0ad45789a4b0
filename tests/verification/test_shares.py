import numpy as np
import pytest

from paretoken.verification import shares
from paretoken.verification.shares import excess_high


def test_a_published_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """Newcombe (1998), method 10: 56/70 against 48/80 gives 0.0524 to 0.3339, two-sided at 95 %."""
    one_sided = excess_high(56, 70, 48, 80)
    monkeypatch.setattr(shares, "_Z", 1.959964)
    assert excess_high(56, 70, 48, 80) == pytest.approx(0.3339, abs=5e-5)
    assert -excess_high(48, 80, 56, 70) == pytest.approx(0.0524, abs=5e-5)
    assert 0.2 < one_sided < 0.3339


def test_more_tries_narrow_it_down() -> None:
    ends = [excess_high(2 * n, 5 * n, 2 * n, 5 * n) for n in (5, 20, 100, 1000)]
    assert ends == sorted(ends, reverse=True)
    assert ends[-1] < 0.03


@pytest.mark.parametrize(("share", "of"), [(0.42, 83), (0.12, 25), (0.028, 600), (0.5, 40)])
def test_it_covers_the_true_difference(share: float, of: int) -> None:
    """Equal shares: the upper end lies below 0 in about one case of twenty, by luck of 4000 draws at most 6.5 %."""
    random = np.random.default_rng(3)
    pairs = random.binomial(of, share, size=(4000, 2))
    assert np.mean([excess_high(int(a), of, int(b), of) < 0 for a, b in pairs]) <= 0.065


def test_nothing_tried_leaves_everything_open() -> None:
    assert excess_high(0, 0, 3, 10) == excess_high(3, 10, 0, 0) == 1.0
    with pytest.raises(ValueError, match="more hits"):
        excess_high(4, 3, 0, 1)
