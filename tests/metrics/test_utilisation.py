"""Shares of the physical limits, and what can't be one."""

import pytest

from paretoken.errors import InvalidMeasurement
from paretoken.metrics.utilisation import (
    attention_flops_per_token,
    decode_step_bound_s,
    decode_step_bytes,
    mbu,
    mfu,
)


def test_a_step_reads_the_weights_once_and_every_streams_cache() -> None:
    assert decode_step_bytes(weight_bytes=100, kv_bytes_per_token=2, context_tokens=10, streams=4) == 180


def test_mbu_of_a_step_at_half_the_bound() -> None:
    bound = decode_step_bound_s(98_362_432, 15.8e9)
    assert bound == pytest.approx(0.006225, abs=1e-6)
    assert mbu(step_bytes=98_362_432, step_s=2 * bound, read_bytes_per_s=15.8e9) == pytest.approx(0.5)


def test_mfu() -> None:
    attention = attention_flops_per_token(layers=2, width=12, context_tokens=10)
    assert attention == 960
    assert mfu(active_parameters=520, tok_s=100, flop_s=400_000, attention_flops_per_token=attention) == 0.5


def test_more_than_all_is_an_error() -> None:
    with pytest.raises(InvalidMeasurement, match="125 % of the measured memory bandwidth cannot be"):
        mbu(step_bytes=1.25e9, step_s=1.0, read_bytes_per_s=1e9)
    with pytest.raises(InvalidMeasurement, match="FLOP/s cannot be"):
        mfu(active_parameters=1e9, tok_s=1e3, flop_s=1e12)
