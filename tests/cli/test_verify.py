import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from paretoken.cli.verify import verify
from paretoken.core.candidate import Model
from paretoken.errors import ModelError, UsageError
from paretoken.verification import verify as module
from paretoken.verification.answers import Pair, divergence
from paretoken.verification.behaviour import judge
from paretoken.verification.logits import Answer
from paretoken.verification.verify import Verification

from ..verification.found import from_kld


def found(kld: float, margin_nat: float = 0.01) -> Verification:
    model = Model("m", "m.gguf", "0", 1)
    before = Answer("baseline", 0, (1, 2), (1.0, 1.0), "It is blue.", True, True)
    now = Answer("candidate", 0, (1, 3), (1.0, 1.0), "It is\x1b[31m\ngreen.", True, True)
    return Verification(
        base=model,
        candidate=model,
        behaviour=judge(from_kld([kld * (0.9 + i % 3 / 10) for i in range(256)], 8), margin_nat=margin_nat),
        floors=None,
        answers=(Pair("What colour?", before, now, divergence(before.tokens, now.tokens)),),
        doubts=(),
        evidence="logits",
        text="bundled public-domain books",
        positions_asked=256,
        engine={},
        seconds=1.0,
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the verb asked for; `kld` decides what it finds."""
    seen: dict[str, Any] = {"kld": 0.002}

    def stand_in(base: str, candidate: str, **settings: Any) -> Verification:
        seen.update(settings, base=base, candidate=candidate)
        return found(seen["kld"], settings["margin_nat"])

    monkeypatch.setattr(module, "verify", stand_in)
    return seen


def run(*arguments: str) -> tuple[Result, int]:
    """The verb returns its status; cli/main.py makes it the process's."""
    result = CliRunner().invoke(verify, list(arguments), catch_exceptions=False, standalone_mode=False)
    return result, result.return_value


@pytest.mark.parametrize(("kld", "status"), [(0.002, 0), (0.4, 4), (0.01, 3)])
def test_the_verdict_is_the_exit_status(kld: float, status: int, asked: dict[str, Any]) -> None:
    asked["kld"] = kld
    assert run("a.gguf", "b.gguf")[1] == status


def test_json_is_one_document(asked: dict[str, Any]) -> None:
    result, _ = run("a.gguf", "b.gguf", "--json", "--positions", "256")
    document = json.loads(result.stdout)
    assert document["verdict"] == "changed_small"
    assert document["kld"]["ci95"]
    assert asked["positions"] == 256


def test_the_margin_is_the_users(asked: dict[str, Any]) -> None:
    asked["kld"] = 0.03
    assert run("a.gguf", "b.gguf", "--behaviour", "kld < 0.05")[1] == 0
    assert asked["margin_nat"] == 0.05
    with pytest.raises(UsageError, match="write it like"):
        run("a.gguf", "b.gguf", "--behaviour", "loss < 1")


def test_a_refusal_shows_the_answers_harmlessly(asked: dict[str, Any]) -> None:
    asked["kld"] = 0.4
    shown = run("a.gguf", "b.gguf", "--positions", "256")[0].stdout
    assert shown.startswith("verdict    changed: mean KLD 0.4")
    assert "It is blue." in shown
    assert "\x1b" not in shown
    assert len(shown.splitlines()) <= 12


def test_a_text_too_short_for_the_positions_is_said(asked: dict[str, Any]) -> None:
    assert "256 positions, not 2,048" in run("a.gguf", "b.gguf")[0].stderr


def test_examples_of_the_help_are_understood(asked: dict[str, Any]) -> None:
    epilog = verify.epilog or ""
    examples = [shlex.split(line) for line in epilog.splitlines() if line.strip().startswith("paretoken")]
    assert len(examples) == 2  # of two models, and of a study
    for _, verb, *arguments in examples:
        assert verb == "verify"
        if len(arguments) > 1:  # the other is of a study, which has a test of its own
            assert run(*arguments)[1] == 0


def test_a_model_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no file"):
        run(str(tmp_path / "none.gguf"), str(tmp_path / "other.gguf"))
