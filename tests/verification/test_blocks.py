import numpy as np
import pytest

from paretoken.verification.blocks import block_mean, block_share


def test_the_mean_is_over_positions_not_over_documents() -> None:
    found = block_mean(np.array([1.0, 1.0, 1.0, 5.0]), np.array([0, 0, 0, 1]))
    assert found.value == 2.0


def test_one_document_has_no_interval() -> None:
    found = block_mean(np.array([1.0, 2.0, 3.0]), np.zeros(3, dtype=np.int64))
    assert (found.value, found.se, found.low, found.high) == (2.0, None, None, None)


def test_equal_values_have_no_width() -> None:
    found = block_mean(np.full(20, 0.25), np.arange(20) // 5)
    assert (found.se, found.low, found.high) == (0.0, 0.25, 0.25)


def test_the_same_input_gives_the_same_interval() -> None:
    values = np.random.default_rng(5).exponential(size=200)
    assert block_mean(values, np.arange(200) // 10) == block_mean(values, np.arange(200) // 10)


def test_the_standard_error_is_that_of_document_means() -> None:
    """For equal documents the bootstrap's SE is the textbook one, sd of the means over √n."""
    values = np.random.default_rng(6).normal(size=(40, 25))
    means = values.mean(axis=1)
    found = block_mean(values.ravel(), np.repeat(np.arange(40), 25))
    assert found.se == pytest.approx(means.std(ddof=1) / np.sqrt(40), rel=0.05)


@pytest.mark.parametrize(("documents", "least"), [(8, 0.89), (24, 0.91)])
def test_intervals_hold_the_truth(documents: int, least: float) -> None:
    """Skewed distances as measured (log-normal, documents differ by 20 %): 300 experiments, nominal 95 %."""
    random = np.random.default_rng(8)
    truth = np.exp(0.5 * 1.2**2) * np.exp(0.5 * 0.2**2)
    held = 0
    for _ in range(300):
        level = np.repeat(random.lognormal(0, 0.2, documents), 64)
        values = level * random.lognormal(0, 1.2, documents * 64)
        found = block_mean(values, np.repeat(np.arange(documents), 64))
        assert found.low is not None and found.high is not None
        held += found.low <= truth <= found.high
    assert held / 300 >= least


def test_a_ratio_too_large_for_a_float_stays_a_number() -> None:
    found = block_mean(np.array([900.0, 950.0, 1000.0]), np.arange(3)).exp()
    assert np.isfinite([found.value, found.se or 0.0, found.low or 0.0, found.high or 0.0]).all()


def test_a_share_of_all_is_not_certain() -> None:
    document = np.repeat(np.arange(4), 64)
    found = block_share(np.ones(256, dtype=bool), document)
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(0.025 ** (1 / 4))
    none = block_share(np.zeros(256, dtype=bool), document)
    assert (none.value, none.low) == (0.0, 0.0) and none.high == pytest.approx(1 - 0.025 ** (1 / 4))
