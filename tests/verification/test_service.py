"""A change of service settings: what is read for which change, and `engine` tests of real ones."""

from typing import Any

import numpy as np
import pytest

from paretoken.core.candidate import Model
from paretoken.errors import UsageError
from paretoken.verification import service as module
from paretoken.verification.how import How
from paretoken.verification.logits import Findings, Plan, Service
from paretoken.verification.service import check_service, check_slots

from .found import from_kld, with_flips
from .test_intact import FLOORS

MODEL = Model("m", "m.gguf", "0", 1)
TWO = How(2)


def reads(monkeypatch: pytest.MonkeyPatch, *, same: bool = True) -> list[Service]:
    """Instead of the child: the very same numbers, or flips as rounding makes them. Keeps what was asked for."""
    asked: list[Service] = []

    def stand_in(plan: Plan, **_: Any) -> Findings:
        assert plan.service is not None
        assert plan.text is not None
        asked.append(plan.service)
        equal = from_kld(np.zeros(500), 8)
        object.__setattr__(equal, "log_ratio", np.zeros(500))
        object.__setattr__(equal, "delta_p", np.zeros(500))
        return Findings({}, {"service": equal if same else with_flips(83, 20, 690, 10)})

    monkeypatch.setattr(module, "read_logits", stand_in)
    return asked


def test_slots_are_decoded_side_by_side_and_no_prompt_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = reads(monkeypatch)
    found = check_slots(MODEL, 4, 256, kv_type="q8_0")
    assert (found.verdict, found.change, found.evidence) == ("intact", "4 slots", "logits")
    [service] = asked
    assert (service.slots_before, service.slots_after, service.prompt_positions) == (1, 4, 0)
    assert service.windows == 4
    assert service.before == service.after
    assert service.before.kv_type == "q8_0"


@pytest.mark.parametrize(
    ("after", "slots", "prompt_positions", "decodes", "prompt_tokens", "change"),
    [
        (How(2, ubatch=64), 1, 512, False, 128, "ubatch 512 to 64"),
        (How(2, ubatch=256), 1, 512, False, 512, "ubatch 512 to 256"),
        (How(2, ubatch=2048), 1, 512, False, 1024, "ubatch 512 to 2048"),
        (How(2, batch_threads=1), 1, 512, False, 128, "batch threads 2 to 1"),
        (How(1), 1, 256, True, 128, "threads 2 to 1, batch threads 2 to 1"),
        (How(2, flash_attention="off"), 1, 256, True, 128, "flash attention auto to off"),
        (How(2, ubatch=64), 4, 256, True, 128, "ubatch 512 to 64"),
        (TWO, 1, 0, True, 0, "nothing"),
    ],
)
def test_what_a_change_can_move_is_read(
    after: How,
    slots: int,
    prompt_positions: int,
    decodes: bool,
    prompt_tokens: int,
    change: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = reads(monkeypatch)
    assert check_service(MODEL, TWO, after, slots, slots).change == change
    [service] = asked
    assert (service.prompt_positions, service.prompt_tokens) == (prompt_positions, prompt_tokens)
    assert bool(service.windows) is decodes


def test_slots_on_both_sides_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = reads(monkeypatch)
    assert check_service(MODEL, TWO, TWO, 2, 8).change == "2 to 8 slots"
    assert asked[0].windows % 8 == 0


def test_floors_are_measured_at_the_same_kv_type_when_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []

    def stand_in(*_: Any, kv_type: str, **__: Any) -> Any:
        measured.append(kv_type)
        return FLOORS

    monkeypatch.setattr(module, "measure_floors", stand_in)
    q8 = How(2, kv_type="q8_0")
    reads(monkeypatch)
    check_service(MODEL, q8, How(1, kv_type="q8_0"))
    assert measured == []
    reads(monkeypatch, same=False)
    assert check_service(MODEL, q8, How(1, kv_type="q8_0")).floors is FLOORS
    assert measured == ["q8_0"]
    check_service(MODEL, TWO, How(1), floors=FLOORS)
    assert measured == ["q8_0"]


def test_another_kv_type_is_a_change_of_the_model() -> None:
    with pytest.raises(UsageError, match="not a service setting"):
        check_service(MODEL, TWO, How(2, kv_type="q8_0"))


@pytest.mark.engine
@pytest.mark.parametrize(
    "after", [How(1), How(2, batch_threads=1), How(2, ubatch=64), How(2, flash_attention="on")], ids=str
)
def test_rounding_or_less_on_the_embedded_engine(after: How, smollm2: Model) -> None:
    """Every kernel of this engine's processor code gives the same numbers however the work is cut."""
    found = check_service(smollm2, TWO, after, positions=64)
    assert found.verdict == "intact"
    assert found.positions >= 64


@pytest.mark.engine
def test_without_flash_attention_the_numbers_are_other_ones(smollm2: Model) -> None:
    found = check_service(smollm2, TWO, How(2, flash_attention="off"), positions=64, floors=FLOORS)
    assert 0 < found.kld.value < 0.05
    assert found.verdict != "not_intact"


@pytest.mark.engine
def test_slots_and_a_ubatch_over_a_quantised_kv_cache(smollm2: Model) -> None:
    before, after = How(2, kv_type="q8_0"), How(2, ubatch=64, kv_type="q8_0")
    assert check_service(smollm2, before, after, 2, 4, 64).verdict == "intact"
