"""The public verify: what becomes of findings without the engine, and `engine` tests with it."""

import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paretoken.core.candidate import Model
from paretoken.errors import UsageError
from paretoken.verification import verify as module
from paretoken.verification.answers import differing_answers
from paretoken.verification.floors import measure_floors
from paretoken.verification.logits import BASELINE, CANDIDATE, Answer, Findings, Plan
from paretoken.verification.service import check_slots
from paretoken.verification.tokenizer import Tokenizer
from paretoken.verification.verify import screen, verify

from ..models.gguf_builder import small_llama
from .found import from_kld

TOKENS = Tokenizer(100, 100, "a", (2,), "t")
LOOP = "and then and then and then and then and then and then and then and then"


@pytest.fixture
def tiny(tmp_path: Path) -> Model:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(small_llama().build())
    return Model("tiny", str(path), "0", path.stat().st_size)


def finds(
    monkeypatch: pytest.MonkeyPatch,
    *,
    kld: float = 0.002,
    candidate: Tokenizer = TOKENS,
    text: str = "A fine answer.",
    tokens_differ: str | None = None,
) -> list[Plan]:
    """Instead of the child: equal distances everywhere, the baseline a tenth as far from itself. Keeps the plans."""
    plans: list[Plan] = []

    def stand_in(plan: Plan, **_: Any) -> Findings:
        plans.append(plan)
        values = kld * np.random.default_rng(1).uniform(0.9, 1.1, 800)
        reads = {r.name: from_kld(values if r.model == CANDIDATE else values / 10, 20) for r in plan.reads}
        prompts = range(len(plan.chats.prompts)) if plan.chats else ()
        answers = [
            Answer(model, i, (1, 2), (1.0, 1.0), "A fine answer." if model == BASELINE else text, True, True)
            for i in prompts
            for model in (BASELINE, CANDIDATE)
        ]
        tokenizers = {BASELINE: TOKENS, CANDIDATE: candidate}
        return Findings(tokenizers, {} if tokens_differ else reads, tuple(answers), tokens_differ)

    monkeypatch.setattr(module, "read_logits", stand_in)
    return plans


def test_the_document_has_what_the_contract_says(tiny: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = finds(monkeypatch)
    document = verify(tiny, tiny, positions=512).as_json()
    assert document["verdict"] == "changed_small"
    assert document["evidence"] == "logits"
    assert set(document["slices"]) == {"dialogue", "prose"}
    assert document["kld"]["value"] == pytest.approx(0.002, rel=0.01)
    assert len(document["kld"]["ci95"]) == 2
    assert document["floors"]["numerics_nat"] == pytest.approx(0.0002, rel=0.1)
    assert document["floor_nat"] == document["floors"]["numerics_nat"]
    assert document["margin_nat"] == 0.01
    assert document["smallest_detectable"] > 0
    assert document["same_top"]["value"] == 1.0
    assert [change["name"] for change in document["floors"]["changes"]] == [
        "threads",
        "ubatch",
        "flash_attention",
        "batch_composition",
    ]
    assert len(document["answers"]) == 3
    assert len(plans) == 1  # baseline, candidate, floors and answers in one go
    json.dumps(document, allow_nan=False)


def test_floors_are_measured_reused_or_left_out(tiny: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = finds(monkeypatch)
    measured = verify(tiny, tiny, positions=512).floors
    assert measured is not None
    again = verify(tiny, tiny, positions=512, floors=measured)
    assert again.floors is measured
    assert [read.name for read in plans[-1].reads] == [CANDIDATE]
    without = verify(tiny, tiny, positions=512, floors=False)
    assert without.as_json()["floors"] is None
    assert without.verdict == "changed_small"


def test_a_kv_type_is_the_candidates_alone(tiny: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = finds(monkeypatch)
    found = verify(tiny, tiny, positions=512, kv_type="q8_0")
    assert found.as_json()["kv_type"] == "q8_0"
    [plan] = plans
    assert (plan.kv_type, plan.candidate_kv_type) == ("f16", "q8_0")
    assert {read.model: read.kv_type for read in plan.reads} == {CANDIDATE: "q8_0", BASELINE: "f16"}
    assert screen(tiny, tiny, kv_type="q4_0").kv_type == "q4_0"
    with pytest.raises(UsageError, match="kv_type is 'q9_9'"):
        verify(tiny, tiny, positions=512, kv_type="q9_9")


def test_a_screen_looks_at_few_positions_and_asks_nothing(tiny: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = finds(monkeypatch, kld=0.4)
    assert screen(tiny, tiny).verdict == "changed"
    [plan] = plans
    assert plan.text is not None
    assert len(plan.text.documents) * plan.text.window_positions == 256
    assert plan.chats is None
    assert len(plan.reads) == 1


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"candidate": replace(TOKENS, stop_tokens=())}, "stop tokens"),
        ({"candidate": replace(TOKENS, template_sha=None)}, "chat template"),
        ({"candidate": replace(TOKENS, tokenizer_sha="b"), "tokens_differ": "the token maps differ"}, "tokenizer"),
        ({"tokens_differ": "the candidate cuts document 3 into other tokens"}, "document 3"),
        ({"text": LOOP}, "degenerate"),
        ({"text": ""}, "degenerate"),
    ],
)
def test_what_fails_however_near_it_is(
    found: dict[str, Any], said: str, tiny: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    finds(monkeypatch, kld=1e-6, **found)
    result = verify(tiny, tiny, positions=512)
    assert result.verdict == "fail"
    assert said in result.behaviour.reason
    assert not result.passes
    json.dumps(result.as_json(), allow_nan=False)


def test_a_quantised_baseline_is_a_doubt(tiny: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    finds(monkeypatch)
    monkeypatch.setattr(module, "_UNQUANTISED", ())
    [doubt] = verify(tiny, tiny, positions=512).doubts
    assert doubt.name == "baseline_already_quantised"


@pytest.mark.engine
def test_q4_0_is_refused_with_differing_answers(smollm2: Model) -> None:
    """The plausible optimisation that changes a third of the top choices."""
    from paretoken.techniques.model.quantize import quantize

    candidate = quantize(smollm2, "Q4_0")
    found = screen(smollm2, candidate)
    assert found.verdict == "changed"
    assert found.behaviour.kld is not None and found.behaviour.kld.value > 0.1
    assert found.behaviour.same_top is not None and found.behaviour.same_top.value < 0.85
    assert [doubt.name for doubt in found.doubts] == ["baseline_already_quantised"]
    pairs = differing_answers(smollm2, candidate, n=16)
    assert len(pairs) >= 2
    assert all(pair.baseline.text != pair.candidate.text for pair in pairs[:2])


@pytest.mark.engine
def test_the_published_weights_dequantised_are_no_further_than_rounding(smollm2: Model) -> None:
    from paretoken.techniques.model.quantize import quantize

    floors = measure_floors(smollm2, positions=96)
    assert floors.repeat.kld.value == 0.0
    assert 0 < floors.numerics_nat < 0.05
    found = verify(smollm2, quantize(smollm2, "F16"), positions=256, floors=floors, answers=False)
    assert found.behaviour.kld is not None and found.behaviour.kld.value < 0.01
    assert found.verdict in ("equivalent", "changed_small", "inconclusive")


@pytest.mark.engine
def test_a_quantised_kv_cache_is_a_change_of_the_model(smollm2: Model) -> None:
    """Eight bits are about as far as rounding on this model, four change a fifth of the top choices."""
    eight, four = (screen(smollm2, smollm2, kv_type=kind) for kind in ("q8_0", "q4_0"))
    assert eight.behaviour.kld is not None and four.behaviour.kld is not None
    assert 0 < eight.behaviour.kld.value < 0.015
    assert eight.verdict in ("changed_small", "inconclusive")
    assert four.behaviour.kld.value > 5 * eight.behaviour.kld.value
    assert four.verdict == "changed"
    differing = differing_answers(smollm2, smollm2, n=16, kv_type="q4_0")
    assert differing


@pytest.mark.engine
def test_slots_of_the_embedded_engine_are_intact(smollm2: Model) -> None:
    found = check_slots(smollm2, 4, 64)
    assert found.verdict == "intact"
    assert found.positions == 64


@pytest.mark.engine
def test_a_broken_model_is_found_out(smollm2: Model, tmp_path: Path) -> None:
    """One norm of the model made NaN: not "no worse", but fail, with the position."""
    from paretoken.models.gguf_header import read_header

    norm = next(t for t in read_header(smollm2.path).tensors if t.name == "output_norm.weight")
    data = bytearray(Path(smollm2.path).read_bytes())
    data[norm.offset : norm.offset + norm.bytes] = struct.pack("<f", float("nan")) * norm.items
    path = tmp_path / "nan.gguf"
    path.write_bytes(data)
    found = screen(smollm2, Model("nan", str(path), "nan", len(data)))
    assert found.verdict == "fail"
    assert "position 0" in found.behaviour.reason
