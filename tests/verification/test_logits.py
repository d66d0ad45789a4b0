"""The child with the real engine: `engine` tests; and what is refused before it is started."""

import json
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from paretoken.core.candidate import Model
from paretoken.errors import EngineError, MissingExtraError, ModelError
from paretoken.verification import llama_abi, logits
from paretoken.verification.answers import chats
from paretoken.verification.child_events import events_of
from paretoken.verification.how import How
from paretoken.verification.logits import BASELINE, CANDIDATE, NoLogits, Plan, Read, Service, read_logits
from paretoken.verification.text import bundled

NOWHERE = Model("none", "none.gguf", "0", 1)
CHILD = [sys.executable, "-P", "-m", "paretoken.verification.logits_child"]


def test_without_the_engine_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"'local'"):
        read_logits(Plan(NOWHERE))


def test_another_build_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xllamacpp")
    monkeypatch.setattr(metadata, "version", lambda name: "2027.1.1")
    with pytest.raises(NoLogits, match=r"2026\.10\.11549 only, here is 2027\.1\.1"):
        read_logits(Plan(NOWHERE))


def stand_in(monkeypatch: pytest.MonkeyPatch, events: list[dict[str, Any]], status: int | str = 0) -> None:
    """A child that says `events` and ends so, whatever it is told."""
    code = f"import json, os, sys; [print(json.dumps(e)) for e in {events!r}]; sys.stdout.flush(); "
    code += f"sys.exit({status})" if isinstance(status, int) else f"os.kill(os.getpid(), {int(signal.Signals[status])})"
    monkeypatch.setattr(logits, "_library", lambda: ("nothing.so", "1"))
    argv = [sys.executable, "-c", code]
    monkeypatch.setattr(logits, "events_of", lambda _, *rest: events_of(argv, *rest))


def test_a_crash_names_the_model_that_was_being_read(monkeypatch: pytest.MonkeyPatch) -> None:
    loading = [{"event": "loading", "model": BASELINE}, {"event": "loading", "model": CANDIDATE}]
    stand_in(monkeypatch, loading, "SIGSEGV")
    with pytest.raises(EngineError, match=r"'hostile\.gguf', the engine's process crashed \(SIGSEGV\)"):
        read_logits(Plan(NOWHERE, Model("h", "/somewhere/hostile.gguf", "0", 1)))


def test_an_end_without_an_answer_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, [{"event": "loading", "model": BASELINE}])
    with pytest.raises(EngineError, match="without an answer"):
        read_logits(Plan(NOWHERE))


def test_other_token_maps_end_it_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    same = {"event": "identity", "vocab_size": 9, "tokenizer_tokens": 9, "stop_tokens": [2], "template_sha": None}
    events = [{**same, "model": BASELINE, "tokenizer_sha": "a"}, {**same, "model": CANDIDATE, "tokenizer_sha": "b"}]
    stand_in(monkeypatch, events, "SIGSEGV")
    assert read_logits(Plan(NOWHERE, NOWHERE)).tokens_differ == "the token maps differ"


def test_a_library_of_another_kind_is_refused() -> None:
    """libc has none of the functions: the child says so, and does not crash."""
    plan = {
        "library": "libc.so.6",
        "baseline": "x",
        "candidate": None,
        "compare": None,
        "service": None,
        "answers": None,
    }
    [event] = events_of(CHILD, plan, 60.0)
    assert (event["event"], event["kind"]) == ("error", "layout")


def test_another_default_of_a_kv_type_is_another_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    library = llama_abi.Library.__new__(llama_abi.Library)
    defaults = llama_abi.ContextParams(**llama_abi._EXPECTED)
    defaults.yarn[:] = [-1.0] * 4
    defaults.type_v = 8
    monkeypatch.setattr(llama_abi.Library, "__getattr__", lambda _, name: lambda: defaults)
    with pytest.raises(llama_abi.LayoutUnknown, match="its default type_v reads 8, not 1"):
        library._check_layout()


@pytest.mark.engine
def test_a_file_that_is_no_model_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(200))
    with pytest.raises(ModelError, match=r"'broken\.gguf' is of no use: the engine cannot load it"):
        read_logits(Plan(Model("broken", str(path), "0", 1)))


@pytest.mark.engine
def test_the_child_ends_with_its_parent(smollm2: Model) -> None:
    """Its stdin closes in the middle of a long job: it is gone, and says nothing of `done`."""
    plan = logits._as_json(Plan(smollm2, text=bundled(), reads=(Read("again", BASELINE, 1, 24),)), logits._library()[0])
    child = subprocess.Popen(CHILD, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None and child.stdout is not None
    with child.stdout:
        child.stdin.write(json.dumps(plan).encode() + b"\n")
        child.stdin.flush()
        assert b"loading" in child.stdout.readline()
        child.stdin.close()
        rest = child.stdout.read()
        assert child.wait(timeout=60) == 1
    assert b'"done"' not in rest


@pytest.mark.engine
def test_one_model_read_in_several_ways(smollm2: Model) -> None:
    """Again: the very same numbers. In other batches: rounding at most. Slots: as alone. Answers: the same twice."""
    text = bundled(64)
    found = read_logits(
        Plan(
            smollm2,
            smollm2,
            text=text,
            reads=(
                Read("again", CANDIDATE, 2, len(text.documents)),
                Read("one thread", BASELINE, 1, 1),
                Read("small batches", BASELINE, 2, len(text.documents), ubatch=16, flash_attention="off"),
            ),
            service=Service(How(2), How(2), slots_after=2, windows=2),
            chats=chats(["Say hello."], 6),
            threads=2,
        )
    )
    assert found.tokens_differ is None
    assert found.tokenizers[BASELINE] == found.tokenizers[CANDIDATE]
    assert found.tokenizers[BASELINE].vocab_size == 49_152
    assert found.tokenizers[BASELINE].stop_tokens
    assert found.tokenizers[BASELINE].template_sha is not None
    again, one = found.positions["again"], found.positions["one thread"]
    assert len(again) == 64
    assert again.documents == 2
    assert again.bit_equal
    assert len(one) == 32
    assert one.kld.max() < 0.5
    moved = found.positions["small batches"].kld
    assert 0 < moved.mean() < 0.05
    assert moved.min() > -1e-6
    assert len(found.positions["service"]) == 64
    ours, theirs = found.answers
    assert ours.tokens == theirs.tokens
    assert len(ours.tokens) == len(ours.gaps) <= 6
    assert ours.templated
