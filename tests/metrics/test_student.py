"""The t distribution against scipy's, which the base install does not have."""

import pytest

from paretoken.metrics.student import t_quantile, t_within, two_sided_p


@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 6, 10, 11, 19, 40, 71, 200, 999])
def test_quantiles_and_tails_agree_with_scipy(df: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    for level in (0.5, 0.8, 0.9, 0.95, 0.975, 0.983333, 0.99, 0.999):
        assert t_quantile(level, df) == pytest.approx(stats.t.ppf((1 + level) / 2, df), rel=1e-9)
    for t in (0.0, 0.3, 1.0, 2.5706, 4.0, 12.0):
        assert two_sided_p(t, df) == pytest.approx(2 * stats.t.sf(t, df), abs=1e-13)


def test_known_values() -> None:
    assert t_quantile(0.95, 5) == pytest.approx(2.570581836, abs=1e-8)
    assert t_quantile(0.95, 1) == pytest.approx(12.7062047364, abs=1e-8)
    assert t_within(1.0, 1) == pytest.approx(0.5)
    assert two_sided_p(float("inf"), 3) == 0.0


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0])
def test_a_level_outside_0_and_1_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        t_quantile(level, 5)


def test_no_degrees_of_freedom_is_refused() -> None:
    with pytest.raises(ValueError, match="df"):
        t_within(1.0, 0)
