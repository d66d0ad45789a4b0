"""llama.cpp: settings are validated before anything starts (case el-context-per-slot), then run as asked."""

import http.client
import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from paretoken.core.candidate import Model
from paretoken.engines.base import Listen
from paretoken.engines.llamacpp import SPECULATIONS, LlamaCpp, LlamaCppSettings
from paretoken.engines.llamacpp_child import params_of
from paretoken.errors import EngineError, MissingExtraError, ModelError, UsageError
from paretoken.machine.quota import cpu_quota

CASES = Path(__file__).parent.parent / "cases"


def test_case_context_per_slot() -> None:
    case = json.loads((CASES / "el-context-per-slot.json").read_text())
    given, expected = case["input"], case["expect"]
    settings = LlamaCppSettings(slots=given["parallel"], context_per_slot=given["ctx_size"] // given["parallel"])
    assert settings.context_per_slot == expected["context_per_slot"]
    with pytest.raises(UsageError) as caught:
        settings.requested_context(**given["workload"])
    for number in expected["message_contains"]:
        assert number in str(caught.value)
    # What it suggests does.
    enough = LlamaCppSettings(slots=4, context_per_slot=expected["suggest_ctx_size"] // 4)
    enough.requested_context(**given["workload"])
    assert enough.context_total == expected["suggest_ctx_size"]


def test_context_beyond_the_models_training() -> None:
    with pytest.raises(UsageError, match="9000 tokens per slot is more than the 8192"):
        LlamaCppSettings(context_per_slot=9000).requested_context(10, 10, model_context=8192)
    with pytest.raises(UsageError, match="2100 tokens per slot is more than the 2048"):
        LlamaCppSettings().requested_context(2000, 100, model_context=2048)
    assert LlamaCppSettings().resolved(2048).context_per_slot == 2048
    assert LlamaCppSettings().resolved(131_072).context_per_slot == 8192


def test_defaults_are_named_and_threads_follow_the_quota() -> None:
    assert LlamaCpp().defaults().as_json() == {
        "threads": cpu_quota(),
        "batch_threads": cpu_quota(),
        "slots": 1,
        "context_per_slot": 8192,
        "batch": 2048,
        "ubatch": 512,
        "flash_attention": "auto",
        "kv_type": "f16",
        "prompt_cache": True,
        "speculation": "none",
        "samplers": "default",
    }
    assert LlamaCppSettings(threads=3).resolved().batch_threads == 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"slot": 4}, "'slot' is not a setting of llamacpp; did you mean 'slots'"),
        ({"n_threads": 4}, "did you mean 'threads'"),
        ({"zzz": 4}, "there are: threads"),
        ({"slots": 0}, "slots is 0"),
        ({"slots": "4"}, "slots is '4'; give a whole number"),
        ({"threads": True}, "threads is True"),
        ({"kv_type": "q3_k"}, "q8_0"),
        ({"flash_attention": "maybe"}, "auto, on, off"),
        ({"speculation": "draft"}, "ngram-simple"),
        ({"prompt_cache": 1}, "true or false"),
        ({"batch": 256}, "ubatch 512 is more than batch 256"),
        ({"kv_type": "q8_0", "flash_attention": "off"}, "needs flash attention"),
    ],
)
def test_settings_that_make_no_sense(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        LlamaCppSettings.from_json(given)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("paretoken.engines.llamacpp.importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"'local'"):
        LlamaCpp().launch(str(tmp_path / "m.gguf"), LlamaCppSettings())
    assert "'.[local,report]'" in (LlamaCpp().missing() or "")
    assert LlamaCpp().version() == {"wheel": None, "library_sha256": None}


def test_version_names_wheel_and_library() -> None:
    pytest.importorskip("xllamacpp")
    version = LlamaCpp().version()
    assert version["wheel"] and version["wheel"][0].isdigit()
    assert version["library_sha256"] and len(version["library_sha256"]) == 64
    assert LlamaCpp().version() == version


def test_nothing_starts_with_a_broken_file(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF\x03\x00\x00\x00")
    for path, said in ((broken, "not a usable GGUF"), (tmp_path / "none.gguf", "cannot read")):
        with pytest.raises(ModelError, match=said):
            LlamaCpp().launch(str(path), LlamaCppSettings())
    with pytest.raises(UsageError, match="needs a model"):
        LlamaCpp().launch(None, LlamaCppSettings())


def test_request_extra_and_command() -> None:
    engine = LlamaCpp()
    assert engine.request_extra(LlamaCppSettings()) == {}
    assert engine.request_extra(LlamaCppSettings(prompt_cache=False)) == {"cache_prompt": False}
    settings = LlamaCppSettings(
        threads=2, slots=4, context_per_slot=1000, prompt_cache=False, speculation="ngram-mod", kv_type="q8_0"
    )
    command = " ".join(engine.launch_command(settings, "m.gguf"))
    assert command == (
        "llama-server --model m.gguf --host 127.0.0.1 --threads 2 --threads-batch 2 --parallel 4 --ctx-size 4000 "
        "--batch-size 2048 --ubatch-size 512 --flash-attn auto --cache-type-k q8_0 --cache-type-v q8_0 "
        "--no-kv-unified --metrics --no-ui --no-cache-prompt --cache-ram 0 --spec-type ngram-mod"
    )


def test_listening_beyond_loopback_needs_a_key() -> None:
    with pytest.raises(UsageError, match=r"0\.0\.0\.0 lets other machines in; that needs a key"):
        Listen(host="0.0.0.0")
    listen = Listen(host="0.0.0.0", api_key="secret-1")
    assert "secret-1" not in repr(listen)
    with pytest.raises(UsageError, match="not an IP address"):
        Listen(host="example.org", api_key="x")


def test_settings_reach_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    x = pytest.importorskip("xllamacpp")
    monkeypatch.setenv("PARETOKEN_ENGINE_KEY", "secret-1")
    settings = LlamaCppSettings(
        threads=3,
        batch_threads=5,
        slots=4,
        context_per_slot=300,
        batch=64,
        ubatch=32,
        flash_attention="on",
        kv_type="q8_0",
        prompt_cache=False,
        speculation="ngram-simple",
    )
    p = params_of(
        {
            "settings": settings.as_json(),
            "context_total": settings.context_total,
            "chain": ["top_k", "temperature"],
            "model": "m.gguf",
            "model_name": "m",
            "host": "127.0.0.1",
            "port": 0,
        }
    )
    assert (p.cpuparams.n_threads, p.cpuparams_batch.n_threads, p.n_parallel, p.n_ctx) == (3, 5, 4, 1200)
    assert (p.n_batch, p.n_ubatch, p.cache_prompt, p.cache_ram_mib) == (64, 32, False, 0)
    assert p.flash_attn_type == x.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    assert p.cache_type_k == p.cache_type_v == x.ggml_type.GGML_TYPE_Q8_0
    assert p.sampling.samplers == "top_k;temperature"
    assert list(p.speculative.types) == [x.common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE]
    assert (list(p.api_keys), list(p.hostnames), set(p.model_alias)) == (["secret-1"], ["127.0.0.1"], {"m"})


@pytest.mark.parametrize("name", SPECULATIONS[1:])
def test_speculations_exist_in_the_engine(name: str) -> None:
    x = pytest.importorskip("xllamacpp")
    assert hasattr(x.common_speculative_type, f"COMMON_SPECULATIVE_TYPE_{name.upper().replace('-', '_')}")


def get(base_url: str, path: str, key: str | None = None) -> tuple[int, Any]:
    parts = urlsplit(base_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}"} if key else {})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


@pytest.mark.engine
def test_runs_as_asked_with_a_key_nobody_sees(smollm2: Model, tmp_path: Path) -> None:
    settings = LlamaCppSettings(slots=4, context_per_slot=512, speculation="ngram-simple", kv_type="q8_0")
    listen = Listen(api_key="secret-1")
    with LlamaCpp().launch(smollm2.path, settings, listen=listen, log_dir=tmp_path) as running:
        _, slots = get(running.base_url, "/slots", "secret-1")
        assert [slot["n_ctx"] for slot in slots] == [512] * 4
        assert get(running.base_url, "/slots")[0] == 401
        models = get(running.base_url, "/v1/models", "secret-1")[1]
        assert models["data"][0]["id"] == running.model_name == Path(smollm2.path).stem
        assert running.engine_args["threads"] == cpu_quota()
        if sys.platform.startswith("linux"):
            assert b"secret-1" not in Path(f"/proc/{running.pid}/cmdline").read_bytes()
    assert (tmp_path / "engine.log").exists()
    assert "secret-1" not in (tmp_path / "engine.log").read_text()


@pytest.mark.engine
def test_a_port_that_is_taken(smollm2: Model) -> None:
    with LlamaCpp().launch(smollm2.path, LlamaCppSettings(threads=1, context_per_slot=256)) as first:
        port = urlsplit(first.base_url).port
        assert port is not None
        with pytest.raises(EngineError, match=f"port {port} of 127.0.0.1 is taken"):
            LlamaCpp().launch(smollm2.path, LlamaCppSettings(threads=1, context_per_slot=256), listen=Listen(port=port))
        assert first.alive()


@pytest.mark.engine
def test_a_file_that_only_the_engine_finds_broken(smollm2: Model, tmp_path: Path) -> None:
    """The header is fine but names an architecture that nobody knows: the child dies, we get a sentence."""
    odd = tmp_path / "odd.gguf"
    key = b"general.architecture" + (8).to_bytes(4, "little") + (5).to_bytes(8, "little")
    odd.write_bytes(Path(smollm2.path).read_bytes().replace(key + b"llama", key + b"lamal"))
    with pytest.raises(EngineError, match="exit status 1") as caught:
        LlamaCpp().launch(str(odd), LlamaCppSettings())
    assert "lamal" in str(caught.value)
