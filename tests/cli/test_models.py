import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from paretoken.cli.models import models
from paretoken.errors import ModelError
from paretoken.models.cache import put_json

from ..models.gguf_builder import small_llama, text


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PARETOKEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PARETOKEN_MODEL_WHEEL", raising=False)
    return tmp_path / "cache"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(models, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_list_says_what_is_here_and_how_to_get_what_is_not(cache: Path) -> None:
    assert "paretoken models fetch smollm2-135m" in run("list")
    listed = json.loads(run("list", "--json"))
    assert [(model["name"], model["path"], model["licence"]) for model in listed["models"]] == [
        ("smollm2-135m", None, "Apache-2.0")
    ]
    assert listed["made"] == []
    assert not cache.exists()


def test_list_outlives_a_note_that_is_half_a_note(cache: Path) -> None:
    folder = cache / "made" / "x"
    folder.mkdir(parents=True)
    (folder / "model.gguf").write_bytes(b"")
    put_json(folder / "lineage.json", {"schema": 1, "base": 3})
    assert json.loads(run("list", "--json"))["made"] == []


def test_show_prints_the_headers_sizes(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(small_llama().build())
    shown = json.loads(run("show", "--json", str(path)))
    assert (shown["name"], shown["title"], shown["layers"], shown["type"]) == ("tiny", "tiny", 2, "F32")
    assert shown["kv_bytes_per_token_f16"] == 256
    assert shown["lineage"] is None
    text_form = run("show", str(path))
    assert "context_tokens           2,048" in text_form


def test_text_of_a_file_cannot_command_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(small_llama(keys=[("general.license", text("\x1b]0;owned\x07\x9b2J"))]).build())
    shown = run("show", str(path))
    assert "owned" in shown
    assert not any(c in shown for c in "\x1b\x07\x9b")


def test_show_does_not_fetch(cache: Path) -> None:
    with pytest.raises(ModelError, match="paretoken models fetch"):
        run("show", "smollm2-135m")
    assert not cache.exists()


def test_fetch_of_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(ModelError, match="there are: smollm2-135m"):
        run("fetch", "gpt-4o")


@pytest.mark.parametrize("arguments", [(), ("list",), ("fetch",), ("show",)])
def test_help_ends_with_two_examples(arguments: tuple[str, ...]) -> None:
    examples = run(*arguments, "--help").split("Examples:")[1].split("\n\n")
    assert len([line for line in examples if line.strip().startswith("paretoken models")]) == 2


@pytest.mark.parametrize("key", ["general.architecture", "general.license", "general.name"])
def test_text_of_a_file_cannot_forge_a_line(tmp_path: Path, key: str) -> None:
    path = tmp_path / "tiny.gguf"
    built = small_llama()
    forged = text("x\nfingerprint              forged\u2028y" + "z" * 5000)
    built.keys = [(name, value) for name, value in built.keys if name != key] + [(key, forged)]
    path.write_bytes(built.build())
    lines = run("show", str(path)).splitlines()
    assert len([line for line in lines if line.startswith("fingerprint")]) == 1
    assert max(map(len, lines)) < 300


def test_a_folder_in_the_models_place_is_one_sentence(cache: Path) -> None:
    (cache / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf").mkdir(parents=True)
    for words in (("list",), ("fetch", "smollm2-135m"), ("show", "smollm2-135m")):
        with pytest.raises(ModelError, match="is a folder where a file belongs; remove it"):
            run(*words)


@pytest.mark.parametrize("verb", ["fetch", "show"])
def test_a_long_name_is_one_short_sentence(verb: str) -> None:
    with pytest.raises(ModelError) as refusal:
        run(verb, "x" * 5000 + ".gguf")
    assert len(str(refusal.value)) < 400
