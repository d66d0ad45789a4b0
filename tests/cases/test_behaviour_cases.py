"""The cases about a changed model's answers, under their ids."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paretoken.verification.answers import divergence, is_degenerate
from paretoken.verification.behaviour import judge, perplexity
from paretoken.verification.floors import Change, Floors
from paretoken.verification.tokenizer import Tokenizer, compatibility, mismatch

from ..verification.found import from_kld, from_logits


def case(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    content = json.loads((Path(__file__).parent / f"{name}.json").read_text())
    return content["input"], content["expect"]


def test_qv_kld() -> None:
    given, expect = case("qv-kld")
    p, q = np.log([given["reference_probs"]]), np.log([given["candidate_probs"]])
    found = from_logits(p, q, targets=[int(np.argmax(p))])
    assert found.kld[0] == pytest.approx(expect["kl_nats"], abs=5e-7)
    assert bool(found.same_top[0]) == expect["same_top_token"]
    assert found.delta_p[0] == pytest.approx(expect["delta_p_top"], abs=1e-6)


def test_qv_nan_perplexity() -> None:
    given, expect = case("qv-nan-perplexity")
    nll = np.array([float(value) for value in given["nll_per_token"]])
    assert perplexity(nll) is expect["perplexity"] is None
    # The candidate's logits at that position are no numbers: so is its distance.
    found = judge(from_kld(np.where(np.isnan(nll), math.nan, 0.001), 3))
    assert found.verdict == expect["verdict"]
    assert all(text in found.reason for text in expect["message_contains"])
    assert found.as_json()["perplexity"] == {"baseline": None, "candidate": expect["perplexity"]}


def test_qv_degenerate_text() -> None:
    given, expect = case("qv-degenerate-text")
    assert [is_degenerate(text) for text in given["outputs"]] == expect["degenerate"]


def test_qv_greedy_divergence() -> None:
    given, expect = case("qv-greedy-divergence")
    found = divergence(given["baseline_tokens"], given["candidate_tokens"])
    assert found.identical == expect["identical"]
    assert found.first_divergence == expect["first_divergence"]
    assert found.common_prefix == expect["common_prefix"]


def test_qv_batch_noise_tolerance() -> None:
    """An unchanged model whose log-likelihood moves with the batch size: that movement is its floor, and no change."""
    given, expect = case("qv-batch-noise-tolerance")
    moved = given["loglik_batch_8"][0] - given["loglik_batch_1"][0]
    random = np.random.default_rng(704)
    logits = random.normal(size=(400, 50)).astype(np.float32) * 3
    targets = random.integers(0, 50, 400)
    documents = np.arange(400) // 20

    def again() -> Any:
        """The same model in another batch: rounding of that size in every logit."""
        noise = random.normal(size=logits.shape).astype(np.float32) * np.float32(moved)
        return from_logits(logits, logits + noise, targets, documents)

    assert given["unchanged_model"] and expect["noise_floor_measured_first"]
    floors = Floors(
        Change.seen("repeat", from_logits(logits, logits, targets, documents)), (Change.seen("batch", again()),)
    )
    found = judge(again(), floor_nat=floors.numerics_nat)
    assert floors.numerics_nat > 0
    assert (not found.passes) == expect["regression"]
    assert found.verdict == "equivalent"


def test_qv_vocab() -> None:
    given, expect = case("qv-vocab")
    target, same, other = (Tokenizer(**given[name]) for name in ("target", "draft_same", "draft_other"))
    assert compatibility(target, same) == expect["draft_same"]
    assert compatibility(target, other) == expect["draft_other"]


def test_qv_side_files() -> None:
    """A GGUF file holds in itself what stands beside weights elsewhere: a made model that lacks it fails."""
    given, expect = case("qv-side-files")
    held: dict[str, dict[str, Any]] = {
        "generation_config.json": {"stop_tokens": (2,)},
        "chat_template.jinja": {"template_sha": "t"},
    }

    def model_of(files: list[str]) -> Tokenizer:
        parts = {name: value for file in files for name, value in held.get(file, {}).items()}
        return Tokenizer(10, 10, "s", **parts)

    source = model_of(given["source_files"])
    assert mismatch(source, model_of(given["output_files"])) is not None
    for file in expect["missing"]:
        rest = [name for name in given["source_files"] if name != file]
        assert (mismatch(source, model_of(rest)) is not None) is (expect["verdict"] == "fail")
    assert sorted(set(given["source_files"]) - set(given["output_files"])) == sorted(expect["missing"]) == sorted(held)
    assert mismatch(source, model_of(given["source_files"])) is None
