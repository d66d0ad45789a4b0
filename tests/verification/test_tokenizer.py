from dataclasses import replace

from paretoken.verification.tokenizer import Tokenizer, mismatch

OURS = Tokenizer(1000, 990, "abc", (2, 7), "t1")


def test_padding_makes_no_other_tokenizer() -> None:
    assert mismatch(OURS, replace(OURS, vocab_size=1024)) is None


def test_what_makes_another_model_to_its_users() -> None:
    assert "tokenizer" in (mismatch(OURS, replace(OURS, tokenizer_sha="abd")) or "")
    assert "stop tokens" in (mismatch(OURS, replace(OURS, stop_tokens=(2,))) or "")
    assert "template" in (mismatch(OURS, replace(OURS, template_sha=None)) or "")
