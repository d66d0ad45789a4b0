from pathlib import Path

import pytest

from paretoken.errors import ModelError
from paretoken.models.dimensions import Dimensions, dimensions
from paretoken.models.gguf_header import read_header

from .gguf_builder import Entry, Gguf, i32s, small_llama, u32


def of(tmp_path: Path, built: Gguf) -> Dimensions:
    path = tmp_path / "m.gguf"
    path.write_bytes(built.build())
    return dimensions(read_header(path))


def with_keys(built: Gguf, **values: bytes) -> Gguf:
    named = {f"llama.{key.replace('__', '.')}": value for key, value in values.items()}
    built.keys = [(key, value) for key, value in built.keys if key not in named] + list(named.items())
    return built


def test_sizes_of_a_small_model(tmp_path: Path) -> None:
    sizes = of(tmp_path, small_llama(layers=2, width=64, vocabulary=600))
    layer = 64 + 2 * 64 * 64 + 2 * 64 * 32 + 2 * 64 * 128
    assert sizes.parameters == 600 * 64 + 2 * layer + 64
    assert (sizes.layers, sizes.d_model, sizes.heads, sizes.kv_heads) == (2, 64, 4, 2)
    assert (sizes.context_tokens, sizes.vocabulary) == (2048, 600)
    assert sizes.file_type == sizes.label == "F32"


def test_a_tied_embedding_is_read_in_every_step_and_an_untied_one_is_not(tmp_path: Path) -> None:
    tied = of(tmp_path, small_llama())
    assert tied.tied
    assert tied.weight_bytes_per_step == tied.parameters * 4
    assert tied.active_parameters == tied.parameters
    untied = of(tmp_path, small_llama(tied=False))
    assert not untied.tied
    assert untied.parameters == tied.parameters + 600 * 64
    assert untied.weight_bytes_per_step == tied.weight_bytes_per_step
    assert untied.active_parameters == tied.active_parameters


def test_kv_bytes_follow_layers_heads_and_type(tmp_path: Path) -> None:
    sizes = of(tmp_path, small_llama())
    assert sizes.kv_items_per_token == 2 * 2 * (16 + 16)
    assert sizes.kv_bytes_per_token() == 256
    assert sizes.kv_bytes_per_token("f32") == 512
    assert sizes.kv_bytes_per_token("q8_0") == 128 * 34 // 32
    with pytest.raises(ModelError, match="q9"):
        sizes.kv_bytes_per_token("q9")


def test_kv_heads_may_differ_by_layer_and_heads_may_have_their_own_length(tmp_path: Path) -> None:
    sizes = of(tmp_path, with_keys(small_llama(), attention__head_count_kv=i32s([4, 0]), attention__key_length=u32(8)))
    assert sizes.kv_heads == 4
    assert sizes.kv_items_per_token == 4 * (8 + 16)


def test_without_kv_heads_every_head_has_its_own(tmp_path: Path) -> None:
    built = small_llama()
    built.keys = [(key, value) for key, value in built.keys if key != "llama.attention.head_count_kv"]
    assert of(tmp_path, built).kv_heads == 4


def test_of_experts_only_the_chosen_share_counts(tmp_path: Path) -> None:
    built = with_keys(small_llama(), expert_count=u32(8), expert_used_count=u32(2))
    dense = of(tmp_path, small_llama())
    built.tensors.append(Entry("blk.0.ffn_up_exps.weight", (64, 64, 8), 0, bytes(64 * 64 * 8 * 4)))
    sizes = of(tmp_path, built)
    assert sizes.parameters == dense.parameters + 64 * 64 * 8
    assert sizes.active_parameters == dense.active_parameters + 64 * 64 * 2
    assert sizes.weight_bytes_per_step == dense.weight_bytes_per_step + 64 * 64 * 2 * 4


def test_the_label_is_the_real_mix_whatever_the_file_claims(tmp_path: Path) -> None:
    built = small_llama(layers=1, vocabulary=600, keys=[("general.note", u32(7))])
    for entry in built.tensors:
        if entry.name not in ("token_embd.weight",) and len(entry.shape) > 1:
            rows = entry.shape[1]
            entry.kind, entry.data = 2, bytes(rows * entry.shape[0] // 32 * 18)
    sizes = of(tmp_path, built)
    assert sizes.file_type == "Q4_0"  # of the layers, though the embedding is the larger part here
    assert sizes.label == "F32 (57 %) + Q4_0 (43 %)"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("block_count", u32(2**32 - 1), "block_count"),
        ("block_count", u32(1000), "1000 layers"),
        ("attention__head_count_kv", i32s([2, 2, 2]), "3 layers"),
        ("attention__head_count_kv", i32s([2, -1]), "2 layers"),
        ("embedding_length", i32s([64]), "embedding_length"),
    ],
)
def test_a_size_that_cannot_be_is_refused(tmp_path: Path, key: str, value: bytes, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        of(tmp_path, with_keys(small_llama(), **{key: value}))


def test_what_the_header_does_not_give_is_none(tmp_path: Path) -> None:
    built = small_llama()
    built.keys = built.keys[:1]
    sizes = of(tmp_path, built)
    assert sizes.layers is sizes.d_model is sizes.heads is sizes.kv_heads is sizes.vocabulary is None
    assert sizes.kv_bytes_per_token() is None
    assert of(tmp_path, with_keys(small_llama(), attention__head_count=u32(0))).kv_items_per_token is None
