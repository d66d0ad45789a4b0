import pytest

from paretoken.engines.llamacpp import KV_TYPES as OF_THE_ENGINE
from paretoken.errors import UsageError
from paretoken.verification.how import KV_TYPES, How, quantised


def test_the_types_of_a_kv_cache_are_the_engines_with_ggmls_numbers() -> None:
    assert set(KV_TYPES) == set(OF_THE_ENGINE)
    assert (KV_TYPES["f32"], KV_TYPES["f16"], KV_TYPES["q4_0"], KV_TYPES["q8_0"]) == (0, 1, 2, 8)
    assert (KV_TYPES["iq4_nl"], KV_TYPES["bf16"]) == (20, 30)
    assert quantised("q8_0") and not quantised("bf16")


def test_prefill_has_as_many_threads_unless_it_is_given_others() -> None:
    assert How(2).prefill_threads == 2
    assert How(2, batch_threads=4).prefill_threads == 4


@pytest.mark.parametrize(
    "given", [{"kv_type": "q3_k"}, {"flash_attention": "maybe"}, {"kv_type": "q8_0", "flash_attention": "off"}]
)
def test_what_the_engine_could_not_do_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"give one of|needs flash attention"):
        How(2, **given)  # type: ignore[arg-type]
