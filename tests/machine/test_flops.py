"""FLOP/s come from a child with a clean environment. How fast is not a test."""

import subprocess
from typing import Any

import pytest

from paretoken.errors import ParetokenError
from paretoken.machine import flops
from paretoken.machine.limits import Limits


def test_the_childs_environment() -> None:
    ours = {"OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_L2_SIZE": "1", "OMP_NUM_THREADS": "64", "PATH": "/bin"}
    found = flops.child_environment(ours, 2)
    assert "OPENBLAS_CORETYPE" not in found and "OPENBLAS_L2_SIZE" not in found
    assert found["OMP_NUM_THREADS"] == found["OPENBLAS_NUM_THREADS"] == "2"
    assert found["PATH"] == "/bin"
    assert ours["OMP_NUM_THREADS"] == "64"


def test_a_short_one_for_real() -> None:
    flop_s, blas = flops.flops(1, budget_s=0.0)
    assert flop_s > 0 and blas


def test_a_child_that_fails_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise subprocess.CalledProcessError(1, "python")

    monkeypatch.setattr(subprocess, "run", refuse)
    with pytest.raises(ParetokenError, match="FLOP/s could not be measured"):
        flops.flops(1)


def test_limits_in_json() -> None:
    found = Limits(threads=2, read_gb_s=16.0, read_gb_s_one_thread=9.0, flop_s=1e11, how="measured")
    assert found.read_bytes_per_s == 16e9
    assert found.as_json() == {
        "threads": 2,
        "read_gb_s": 16.0,
        "read_gb_s_one_thread": 9.0,
        "flop_s": 1e11,
        "how": "measured",
    }
