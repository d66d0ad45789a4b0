import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from paretoken.cli.quantize import quantize
from paretoken.errors import ModelError, UsageError
from paretoken.models.gguf_header import read_header

from ..models.gguf_builder import small_llama


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PARETOKEN_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "tiny.gguf"
    path.write_bytes(small_llama().build())
    return path


def run(*arguments: str | Path) -> str:
    result = CliRunner().invoke(quantize, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def answer(*arguments: str | Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run(*arguments, "--json"))
    return document


def test_the_answer_has_the_contracts_keys(tiny: Path) -> None:
    made = answer(tiny, "--to", "f16")
    assert set(made) == {"path", "bytes", "fingerprint", "lineage"}
    assert Path(made["path"]).stat().st_size == made["bytes"]
    assert made["lineage"]["settings"] == {"to": "F16"}
    assert made["lineage"]["base"]["name"] == "tiny"
    assert {tensor.type for tensor in read_header(made["path"]).tensors} == {"F16", "F32"}


def test_without_json_the_result_is_the_path_alone(tiny: Path) -> None:
    printed = run(tiny, "--to", "F16").strip()
    assert Path(printed).is_file()
    assert answer(tiny, "--to", "F16")["path"] == printed


def test_output_is_a_copy_that_a_second_call_finds(tiny: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.gguf"
    made = answer(tiny, "--to", "F16", "--output", output)
    assert made["path"] == str(output)
    status = output.stat()
    assert answer(tiny, "--to", "F16", "--output", output) == made
    assert output.stat().st_mtime_ns == status.st_mtime_ns
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "out.gguf", "tiny.gguf"]


def test_another_file_at_output_is_never_overwritten(tiny: Path) -> None:
    before = tiny.read_bytes()
    with pytest.raises(UsageError, match="exists and is another file"):
        run(tiny, "--to", "F16", "--output", tiny)
    assert tiny.read_bytes() == before


@pytest.mark.parametrize(("output", "message"), [("absent/out.gguf", "create it first"), ("out.bin", r"end in \.gguf")])
def test_output_is_looked_at_before_the_work(tiny: Path, tmp_path: Path, output: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(tiny, "--to", "F16", "--output", tmp_path / output)
    assert not (tmp_path / "cache").exists()


def test_a_type_that_is_not_offered_lists_the_types_before_anything_is_fetched(tiny: Path) -> None:
    with pytest.raises(UsageError, match=r"'Q4_K_M' is not a type .* F16, BF16, Q8_0, Q6_K, .*Q4_1, .*Q2_K"):
        run("smollm2-135m", "--to", "Q4_K_M")


def test_an_unknown_model_is_one_sentence(tiny: Path) -> None:
    with pytest.raises(ModelError, match="there is no model 'gpt-4o'"):
        run("gpt-4o", "--to", "F16")
