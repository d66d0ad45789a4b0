from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from paretoken.core.candidate import Model
from paretoken.errors import MissingExtraError, ModelError, UsageError
from paretoken.models.catalogue import EMBEDDED
from paretoken.models.dimensions import dimensions
from paretoken.models.find import resolve
from paretoken.models.gguf_header import Header, Tensor, read_header
from paretoken.models.lineage import lineage_of
from paretoken.techniques.base import Situation
from paretoken.techniques.model.quantize import TYPES, Quantize, plan, quantize
from paretoken.techniques.model.rows import floats

from ...models.gguf_builder import Entry, Gguf, small_llama, u32
from ...models.gguf_builder import floats as random_floats

ModelOf = Callable[[Gguf], Model]
# Largest error of one number of N(0, 0.05), as a share of the largest in its block of 32.
STEP = {
    "F16": 2**-11,
    "BF16": 2**-8,
    "Q8_0": 1 / 254,
    "Q6_K": 1 / 30,
    "Q5_1": 1 / 30,
    "Q5_K": 1 / 10,
    "Q5_0": 1 / 16,
    "Q4_1": 1 / 14,
    "Q4_K": 1 / 8,
    "Q4_0": 1 / 8,
    "IQ4_NL": 1 / 5,
    "IQ4_XS": 1 / 5,
    "MXFP4": 1 / 3,
    "Q3_K": 1 / 3,
    "Q2_K": 1.0,
}
WIDE = 256  # what the blocks of K-quants need


def tensor_bytes(path: str) -> dict[str, bytes]:
    data = Path(path).read_bytes()
    return {tensor.name: data[tensor.offset : tensor.offset + tensor.bytes] for tensor in read_header(path).tensors}


def numbers(path: str, tensor: Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return floats(tensor_bytes(path)[tensor.name], tensor.type, tensor.items)


def label(model: Model) -> str:
    return dimensions(read_header(model.path)).label


@pytest.mark.parametrize("to", TYPES)
def test_matrices_come_out_as_the_type_and_near_what_they_were(model_of: ModelOf, cache: Path, to: str) -> None:
    base = model_of(small_llama(width=WIDE if to.endswith(("_K", "_XS")) else 64))
    made = quantize(base, to, cache)
    assert (made.name, made.bytes) == (f"base-{to}", Path(made.path).stat().st_size)
    for before, after in zip(read_header(base.path).tensors, read_header(made.path).tensors, strict=True):
        assert (before.name, before.shape) == (after.name, after.shape)
        old, new = numbers(base.path, before), numbers(made.path, after)
        if len(before.shape) == 1:
            assert after.type == "F32"
            assert np.array_equal(old, new)
            continue
        largest = np.abs(old.reshape(-1, 32)).max(axis=1, keepdims=True)
        error = np.abs(old - new).reshape(-1, 32) / largest
        assert 0 < error.max() <= STEP[after.type] * 1.1


def test_all_metadata_is_copied_byte_for_byte_but_the_file_type(model_of: ModelOf, cache: Path) -> None:
    base = model_of(small_llama())
    made = quantize(base, "Q8_0", cache)
    kept = {}
    for path in (base.path, made.path):
        data, header = Path(path).read_bytes(), read_header(path)
        kept[path] = {key: data[start:end] for key, (start, end) in header.spans.items()}
    old, new = kept[base.path], kept[made.path]
    assert set(new) == set(old) | {"general.quantization_version"}
    assert {key for key in old if old[key] != new[key]} == {"general.file_type"}
    assert read_header(made.path).metadata["general.file_type"] == 7


def test_alignment_of_the_file_is_kept(model_of: ModelOf, cache: Path) -> None:
    built = small_llama(keys=[("general.alignment", u32(128))])
    built.alignment = 128
    header = read_header(quantize(model_of(built), "Q4_0", cache).path)
    assert header.alignment == 128
    assert all(tensor.offset % 128 == 0 for tensor in header.tensors)


def test_the_matrix_that_makes_the_logits_is_never_coarser_than_q8_0(model_of: ModelOf, cache: Path) -> None:
    tied = read_header(model_of(small_llama()).path)
    assert plan(tied, "Q4_0")["token_embd.weight"] == "Q8_0"
    assert plan(tied, "F16")["token_embd.weight"] == "F16"
    untied = read_header(model_of(small_llama(tied=False)).path)
    assert plan(untied, "Q4_0")["token_embd.weight"] == "Q4_0"
    assert plan(untied, "Q4_0")["output.weight"] == "Q8_0"


def test_a_width_that_blocks_do_not_fit_falls_back_and_is_named_as_what_it_is(model_of: ModelOf, cache: Path) -> None:
    made = quantize(model_of(small_llama(width=48, vocabulary=32)), "Q4_0", cache)
    types = {tensor.name: tensor.type for tensor in read_header(made.path).tensors}
    assert types["blk.0.attn_q.weight"] == "F16"  # 48 wide
    assert types["blk.0.ffn_down.weight"] == "Q4_0"  # 96 wide
    assert label(made) == "F16 (73 %) + Q4_0 (27 %)"
    note = lineage_of(made, cache)
    assert note is not None
    assert note["result"]["label"] == label(made)
    assert made.name == "base-F16"
    assert read_header(made.path).metadata["general.file_type"] == 1


def test_types_with_the_same_effect_are_offered_once(model_of: ModelOf) -> None:
    def offered(built: Gguf) -> list[str]:
        header = read_header(model_of(built).path)
        return [option["to"] for option in Quantize().options(Situation(header, "llamacpp", 1, 100))]

    small = ["BF16", "Q8_0", "Q5_1", "Q5_0", "Q4_1", "Q4_0", "IQ4_NL", "MXFP4"]
    assert offered(small_llama()) == ["F16", *small]
    assert offered(small_llama(kind="F16")) == small
    assert offered(small_llama(width=20)) == ["F16", "BF16"]
    assert offered(small_llama(width=20, kind="F16")) == ["BF16"]
    # Blocks of 256 fit: K-quants are themselves, and not another type under their name.
    assert offered(small_llama(width=256)) == list(TYPES)


@pytest.mark.parametrize("kind", ["F16", "BF16"])
def test_half_sources_are_read(model_of: ModelOf, cache: Path, kind: str) -> None:
    base = model_of(small_llama(kind=kind))
    made = quantize(base, "Q8_0", cache)
    old, new = (numbers(model.path, read_header(model.path).tensors[0]) for model in (base, made))
    assert np.abs(old).max() > 0.1
    assert np.abs(old - new).max() < 0.002


def test_pieces_change_nothing(model_of: ModelOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = model_of(small_llama())
    for to in TYPES:
        whole = quantize(base, to, tmp_path / "whole")
        monkeypatch.setattr("paretoken.techniques.model.rows.PIECE_ITEMS", 256)
        assert quantize(base, to, tmp_path / "pieces").fingerprint == whole.fingerprint
        monkeypatch.undo()


@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "a NaN or an infinity"), (-np.inf, "a NaN"), (70_000.0, "a number beyond F16")]
)
def test_weights_that_are_broken_are_refused_by_the_tensors_name(
    model_of: ModelOf, cache: Path, value: float, message: str
) -> None:
    built = small_llama()
    entry = next(entry for entry in built.tensors if entry.name == "blk.1.attn_k.weight")
    broken = np.frombuffer(entry.data, "<f4").copy()
    broken[777] = value
    entry.data = broken.tobytes()
    base = model_of(built)
    for to in TYPES:
        with pytest.raises(ModelError, match=f"'blk.1.attn_k.weight' holds {message}"):
            quantize(base, to, cache)
    assert list(cache.glob("made/*/*.gguf")) == []


def test_a_broken_norm_is_found_though_it_is_only_copied(model_of: ModelOf, cache: Path) -> None:
    built = small_llama()
    built.tensors[1].data = np.array([70_000.0] * 63 + [np.nan], "<f4").tobytes()
    with pytest.raises(ModelError, match=r"'blk\.0\.attn_norm\.weight' holds a NaN"):
        quantize(model_of(built), "F16", cache)
    built.tensors[1].data = np.array([70_000.0] * 64, "<f4").tobytes()  # odd, and finite: not ours to judge
    quantize(model_of(built), "F16", cache)


def test_what_is_no_matrix_of_weights_stays(model_of: ModelOf, cache: Path) -> None:
    built = small_llama()
    router = Entry("blk.0.ffn_gate_inp.weight", (64, 4), 0, random_floats((64, 4), 1))
    bias = Entry("blk.0.attn_q.bias", (64, 2), 0, random_floats((64, 2), 2))
    table = Entry("blk.0.table.weight", (32, 2), 26, bytes(range(256)))
    built.tensors += [router, bias, table]
    base = model_of(built)
    made = tensor_bytes(quantize(base, "Q4_0", cache).path)
    assert [made[str(entry.name)] for entry in (router, bias, table)] == [router.data, bias.data, table.data]


def test_a_model_that_would_stay_what_it_is_is_refused(model_of: ModelOf, cache: Path) -> None:
    with pytest.raises(ModelError, match="would stay what it is as F16"):
        quantize(model_of(small_llama(kind="F16")), "F16", cache)


def test_an_unknown_type_lists_what_there_is(model_of: ModelOf, cache: Path) -> None:
    with pytest.raises(UsageError, match=r"F16, BF16, Q8_0, .*Q4_0"):
        quantize(model_of(small_llama()), "Q4_K_M", cache)


def test_a_file_that_changed_since_it_was_named_is_refused(model_of: ModelOf, cache: Path) -> None:
    base = model_of(small_llama(seed=1))
    model_of(small_llama(seed=2))
    with pytest.raises(ModelError, match="not what it was"):
        quantize(base, "Q8_0", cache)


def test_a_second_call_makes_nothing(model_of: ModelOf, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = model_of(small_llama())
    first = quantize(base, "Q8_0", cache)
    monkeypatch.setattr("paretoken.techniques.model.quantize.write_like", lambda *a: pytest.fail("made again"))
    assert quantize(base, "Q8_0", cache) == first


def test_from_a_quantised_base_the_result_says_so(model_of: ModelOf, tmp_path: Path, cache: Path) -> None:
    def note(model: Model) -> str:
        found = lineage_of(model, cache)
        assert found is not None
        assert found["result"]["base_already_quantised"] == ("already" in found["result"]["note"])
        return str(found["result"]["note"])

    first = quantize(model_of(small_llama()), "Q4_1", cache)
    assert note(first) == "made from unquantised weights"
    assert "same function" in note(quantize(first, "F16", cache))
    assert "second time" in note(quantize(first, "Q8_0", cache))


def test_f16_of_a_quantised_file_is_the_same_numbers_up_to_half_floats(model_of: ModelOf, cache: Path) -> None:
    published = quantize(model_of(small_llama()), "Q4_1", cache)
    wide = quantize(published, "F16", cache)
    for before, after in zip(read_header(published.path).tensors, read_header(wide.path).tensors, strict=True):
        old, new = numbers(published.path, before), numbers(wide.path, after)
        assert np.all(np.abs(old - new) <= np.abs(old) * 2**-11 + 2**-24)


def test_without_the_quantiser_the_extra_is_named(
    model_of: ModelOf, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "libgguf", None)
    base = model_of(small_llama())
    quantize(base, "F16", cache)  # needs no quantiser
    with pytest.raises(MissingExtraError, match=r"'local'"):
        quantize(base, "Q8_0", cache)


@pytest.mark.parametrize("to", ["Q8_0", "Q4_1", "Q4_0"])
def test_rounding_is_ggmls_as_the_second_implementation_has_it(model_of: ModelOf, cache: Path, to: str) -> None:
    gguf = pytest.importorskip("gguf")
    base = model_of(small_llama())
    made = quantize(base, to, cache)
    tensor = next(tensor for tensor in read_header(base.path).tensors if tensor.name == "blk.0.ffn_up.weight")
    rows = numbers(base.path, tensor).reshape(-1, tensor.width)
    expected = gguf.quantize(rows, gguf.GGMLQuantizationType[to])
    assert tensor_bytes(made.path)[tensor.name] == expected.tobytes()


@pytest.fixture(scope="module")
def embedded() -> Iterator[Model]:
    """The real model, from the user's cache."""
    yield resolve(EMBEDDED.name)


@pytest.mark.engine
def test_the_embedded_models_sizes(embedded: Model) -> None:
    sizes = dimensions(read_header(embedded.path))
    assert (sizes.parameters, sizes.layers, sizes.d_model) == (134_515_008, 30, 576)
    assert (sizes.heads, sizes.kv_heads, sizes.context_tokens, sizes.vocabulary) == (9, 3, 8192, 49_152)
    assert sizes.tied
    assert sizes.weight_bytes_per_step == EMBEDDED.bytes_per_decode_step
    assert sizes.kv_bytes_per_token("f16") == 23_040
    assert sizes.file_type == "Q4_1"
    assert sizes.label == "Q4_1 (79 %) + Q8_0 (21 %)"


@pytest.mark.engine
def test_the_embedded_model_through_f16_and_back_is_byte_identical(embedded: Model, tmp_path: Path) -> None:
    """A fact of this file (of others it holds up to rounding): it lies on a Q4_1 grid; F16 is no better original."""
    f16 = quantize(embedded, "F16", tmp_path)
    assert f16.bytes == 270_885_952
    back = quantize(f16, "Q4_1", tmp_path)
    old, new = tensor_bytes(embedded.path), tensor_bytes(back.path)
    assert [name for name in old if old[name] != new[name]] == []


@pytest.mark.engine
@pytest.mark.parametrize(("to", "size"), [("Q8_0", 144_811_072), ("Q4_0", 91_726_912)])
def test_the_embedded_model_in_other_types(embedded: Model, tmp_path: Path, to: str, size: int) -> None:
    gguf = pytest.importorskip("gguf")
    made = quantize(embedded, to, tmp_path)
    assert made.bytes == size
    source, result = (
        next(tensor for tensor in read_header(model.path).tensors if tensor.name == "blk.29.ffn_down.weight")
        for model in (embedded, made)
    )
    published = np.frombuffer(tensor_bytes(embedded.path)[source.name], np.uint8).reshape(source.rows, -1)
    rows = gguf.dequantize(published, gguf.GGMLQuantizationType[source.type])
    expected = gguf.quantize(rows, gguf.GGMLQuantizationType[to])
    assert tensor_bytes(made.path)[result.name] == expected.tobytes()


@pytest.mark.engine
def test_another_reader_agrees_that_it_is_a_whole_file(embedded: Model, tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    made = quantize(embedded, "Q4_0", tmp_path)
    reader = gguf.GGUFReader(made.path)
    assert len(reader.tensors) == 272
    assert len(reader.fields["tokenizer.ggml.tokens"].data) == 49_152
    assert reader.fields["tokenizer.chat_template"].contents().startswith("{% for message in messages %}")


def test_a_header_is_all_that_options_need(model_of: ModelOf) -> None:
    header: Header = read_header(model_of(small_llama()).path)
    Path(model_of(small_llama()).path).unlink()
    assert Quantize().options(Situation(header, "llamacpp", 1, 1))
