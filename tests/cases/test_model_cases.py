"""Cases about what a user calls a model: names never become paths, and formats that run code are refused."""

import json
import pickle
from pathlib import Path

import pytest
from click.testing import CliRunner

from paretoken.cli.quantize import quantize
from paretoken.errors import ModelError, ParetokenError
from paretoken.models.find import resolve

from ..models.gguf_builder import small_llama

CASES = Path(__file__).parent


def case(name: str) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads((CASES / f"{name}.json").read_text())
    return found


def test_se_model_name_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose own name climbs out of the folder: everything that is made of it stays inside."""
    given, expected = case("se-model-name-path")["input"], case("se-model-name-path")["expect"]
    inside = tmp_path / "a" / "b" / str(given["output_dir"])
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    monkeypatch.setenv("PARETOKEN_CACHE", str(inside / "cache"))
    (inside / "m.gguf").write_bytes(small_llama(name=str(given["model"])).build())
    before = set(tmp_path.rglob("*"))
    result = CliRunner().invoke(quantize, ["m.gguf", "--to", "F16", "--output", "f16.gguf", "--json"])
    assert result.exit_code == expected["exit_code"]
    new = set(tmp_path.rglob("*")) - before
    assert len(new) > 3
    assert all(path.is_relative_to(inside) for path in new)


def test_se_model_name_path_as_an_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same name on the command line is an unknown name: nothing is opened or created for it."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="there is no model"):
        resolve(str(case("se-model-name-path")["input"]["model"]), tmp_path / "cache")
    assert list(tmp_path.iterdir()) == []


class Marks:
    """A pickle that writes a file when it is loaded."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return (_mark, (str(self._marker), "loaded"))


def _mark(path: str, content: str) -> None:
    Path(path).write_text(content)


@pytest.mark.parametrize("named", ["the folder", "the file", "the file under another name"])
def test_se_pickle_refused(tmp_path: Path, named: str) -> None:
    expected = case("se-pickle-refused")["expect"]
    marker = tmp_path / "marker"
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    payload = pickle.dumps(Marks(marker))
    (folder / "pytorch_model.bin").write_bytes(payload)
    (folder / "model.gguf").write_bytes(payload)
    pickle.loads(payload)  # the trap works
    assert marker.exists()
    marker.unlink()
    path = {
        "the folder": folder,
        "the file": folder / "pytorch_model.bin",
        "the file under another name": folder / "model.gguf",
    }[named]
    result = CliRunner().invoke(quantize, [str(path), "--to", "Q8_0"])
    assert isinstance(result.exception, ParetokenError)
    assert (result.exception.exit_code != 0) == expected["exit_code_nonzero"]
    assert marker.exists() == expected["marker_file_exists"]
    contains = expected["message_contains"]
    assert isinstance(contains, list)
    if named != "the file under another name":
        assert all(word in str(result.exception) for word in contains)
