import hashlib
from pathlib import Path

import pytest

from paretoken.errors import ModelError
from paretoken.models.catalogue import EMBEDDED
from paretoken.models.find import resolve

from .gguf_builder import small_llama, u32


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(small_llama().build())
    return path


def test_a_path_is_the_model_that_lies_there(
    tiny: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for text in (str(tiny), "tiny.gguf", "./tiny.gguf"):
        model = resolve(text, cache)
        assert model.name == "tiny"
        assert Path(model.path) == tiny.absolute()
        assert model.bytes == tiny.stat().st_size
        assert model.fingerprint == hashlib.sha256(tiny.read_bytes()).hexdigest()


def test_a_link_to_a_model_will_do(tiny: Path, cache: Path) -> None:
    link = tiny.with_name("link.GGUF")
    link.symlink_to(tiny)
    assert resolve(str(link), cache).fingerprint == resolve(str(tiny), cache).fingerprint


def test_a_known_model_that_is_not_here_says_how_to_get_it(cache: Path) -> None:
    with pytest.raises(ModelError, match="paretoken models fetch smollm2-135m"):
        resolve("smollm2-135m", cache, fetch_missing=False)
    assert not cache.exists()


def test_the_catalogue_wins_over_a_file_of_its_name(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / EMBEDDED.name).write_text("not a model")
    with pytest.raises(ModelError, match="not here yet"):
        resolve(EMBEDDED.name, cache, fetch_missing=False)


@pytest.mark.parametrize(
    "name", ["gpt-4o", "", "../../etc/acme/tiny", "org/model", "smollm2-135m/../x", "tiny.onnx", "a\0b"]
)
def test_an_unknown_name_lists_what_there_is_and_touches_nothing(cache: Path, name: str) -> None:
    with pytest.raises(ModelError, match=r"smollm2-135m|NUL byte"):
        resolve(name, cache)
    assert not cache.exists()


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.PTH", "m.pkl", "m.ckpt"])
def test_a_pickle_is_refused_unread(tmp_path: Path, cache: Path, name: str) -> None:
    with pytest.raises(ModelError, match=r"pickle.*safetensors"):
        resolve(str(tmp_path / name), cache)


def test_safetensors_and_folders_say_what_to_do(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(ModelError, match=r"convert it to \.gguf"):
        resolve("model.safetensors", cache)
    with pytest.raises(ModelError, match=r"a folder.*safetensors"):
        resolve(str(tmp_path), cache)


def test_an_absent_or_broken_file_is_one_sentence(tiny: Path, cache: Path) -> None:
    with pytest.raises(ModelError, match="there is no file"):
        resolve(str(tiny.with_name("absent.gguf")), cache)
    tiny.write_bytes(tiny.read_bytes()[:500])
    with pytest.raises(ModelError, match="not a usable GGUF file"):
        resolve(str(tiny), cache)


def test_one_part_of_a_split_model_is_refused(tiny: Path, cache: Path) -> None:
    tiny.write_bytes(small_llama(keys=[("split.count", u32(3))]).build())
    with pytest.raises(ModelError, match="split model"):
        resolve(str(tiny), cache)


def test_sizes_that_cannot_be_are_found_at_once(tiny: Path, cache: Path) -> None:
    built = small_llama()
    built.keys = [(key, u32(99) if key == "llama.block_count" else value) for key, value in built.keys]
    tiny.write_bytes(built.build())
    with pytest.raises(ModelError, match="99 layers"):
        resolve(str(tiny), cache)


def refusal(text: str, cache: Path) -> str:
    with pytest.raises(ModelError) as caught:
        resolve(text, cache)
    assert len(str(caught.value)) < 500
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_a_path_that_cannot_be_is_one_short_sentence(cache: Path, tmp_path: Path) -> None:
    assert "longer than a file's can be" in refusal("x" * 5000 + ".gguf", cache)
    assert "longer than a file's can be" in refusal(f"{tmp_path}/{'y/' * 3000}z.gguf", cache)
    assert "there is no model" in refusal("x" * 5000, cache)
    assert "there is no file" in refusal("~nobody-of-that-name/x.gguf", cache)
    assert "there is no file" in refusal("a\nb.gguf", cache)
    assert "there can be no file" in refusal("\ud800.gguf", cache)


def test_links_that_lead_nowhere_are_called_so(cache: Path, tmp_path: Path) -> None:
    loop, dangling = tmp_path / "loop.gguf", tmp_path / "dangling.gguf"
    loop.symlink_to(loop)
    dangling.symlink_to(tmp_path / "absent")
    assert "leads back to itself" in refusal(str(loop), cache)
    assert "a link to nothing" in refusal(str(dangling), cache)


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_name_is_called_empty(cache: Path, text: str) -> None:
    assert "name is empty" in refusal(text, cache)
