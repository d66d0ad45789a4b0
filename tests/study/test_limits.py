"""Limits are kept by machine, and shares of them come with their reasons."""

import json
from pathlib import Path
from typing import Any

import pytest

from paretoken.core.candidate import Candidate, Model
from paretoken.core.record import Record
from paretoken.errors import ParetokenError
from paretoken.machine.limits import METHOD, Limits
from paretoken.metrics.utilisation import mfu
from paretoken.models.dimensions import dimensions
from paretoken.models.gguf_header import read_header
from paretoken.study.limits import computed_input_tok_s, machine_limits, utilisation
from tests.made import record
from tests.models.gguf_builder import small_llama

MACHINE = {"fingerprint": "0123456789abcdef0123"}
FOUND = Limits(2, 10.0, 8.0, 1e11, "by hand")


class Measured:
    """Stands for the measuring, which takes four seconds, and counts."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.fails, self.count = fails, 0

    def __call__(self) -> Limits:
        self.count += 1
        if self.fails is not None:
            raise self.fails
        return FOUND


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    made = Measured()
    monkeypatch.setattr("paretoken.study.limits.limits", made)
    return made


def test_limits_are_measured_once_a_machine(tmp_path: Path, measured: Measured) -> None:
    assert machine_limits(MACHINE, tmp_path / "cache") == machine_limits(MACHINE, tmp_path / "cache") == FOUND
    assert measured.count == 1
    machine_limits({"fingerprint": "another-machine-0000"}, tmp_path / "cache")
    assert measured.count == 2


@pytest.mark.parametrize("damaged", ["{", "[]", '{"threads": 2}', json.dumps({**FOUND.as_json(), "flop_s": 0})])
def test_what_cannot_be_used_is_measured_again(tmp_path: Path, measured: Measured, damaged: str) -> None:
    (tmp_path / f"limits-{METHOD}-0123456789abcdef.json").write_text(damaged)
    assert machine_limits(MACHINE, tmp_path) == FOUND
    assert measured.count == 1


def test_a_cache_that_cannot_be_written_loses_nothing(tmp_path: Path, measured: Measured) -> None:
    (tmp_path / "file").touch()
    assert machine_limits(MACHINE, tmp_path / "file" / "cache") == FOUND
    assert measured.count == 1


@pytest.mark.parametrize("error", [OSError("no memory"), MemoryError(), ParetokenError("the child died")])
def test_what_cannot_be_measured_is_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr("paretoken.study.limits.limits", Measured(error))
    with pytest.raises(ParetokenError):
        machine_limits(MACHINE, tmp_path)


def model(folder: Path) -> Path:
    path = folder / "m.gguf"
    path.write_bytes(small_llama().build())
    return path


def shares(path: Path, **asked: Any) -> dict[str, Any]:
    candidate = Candidate("as given", "llamacpp", Model("m", str(path), "f", 1), {})
    return utilisation(
        candidate, found=FOUND, **({"streams": 1, "context_tokens": 10.0, "step_s": 1.0, "tok_s": 4.0} | asked)
    )


def test_attention_counts_and_prefill_stands_apart(tmp_path: Path) -> None:
    path = model(tmp_path)
    sizes = dimensions(read_header(path))
    assert sizes.layers and sizes.d_model
    found = shares(path, input_tok_s=8.0, prompt_tokens=6.0)
    for name, rate, context in (("mfu", 4.0, 10.0), ("mfu_prefill", 8.0, 3.0)):
        attention = 4 * sizes.layers * sizes.d_model * context
        wanted = mfu(
            active_parameters=sizes.active_parameters, tok_s=rate, flop_s=1e11, attention_flops_per_token=attention
        )
        assert found[name] == pytest.approx(wanted)
    assert found["reasons"] == {}


def test_a_share_that_cannot_be_has_its_reason(tmp_path: Path) -> None:
    found = shares(model(tmp_path), step_s=1e-12)
    assert found["mbu"] is None and "memory bandwidth cannot be" in found["reasons"]["mbu"]
    assert found["mfu_prefill"] is None and "not known" in found["reasons"]["mfu_prefill"]


def read(prompt: int, cached: int | None) -> Record:
    return record(reply={"prompt_tokens": prompt, "cached_tokens": cached})


def test_prompt_tokens_from_the_cache_were_not_computed() -> None:
    some = [read(100, 90), read(50, 0)]
    assert computed_input_tok_s(some, output_tok_s=20.0, total_tok_s=120.0, prompt_cache=True) == pytest.approx(
        100.0 * 60 / 150
    )
    unknown = [*some, read(100, None)]
    assert computed_input_tok_s(unknown, output_tok_s=20.0, total_tok_s=120.0, prompt_cache=True) is None
    assert computed_input_tok_s(unknown, output_tok_s=20.0, total_tok_s=120.0, prompt_cache=False) == 100.0
    assert computed_input_tok_s(some, output_tok_s=20.0, total_tok_s=None, prompt_cache=True) is None
