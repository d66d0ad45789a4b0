"""llama.cpp, from the `xllamacpp` wheel, as a server in a child process.

Enters a GGUF file and `LlamaCppSettings`; leaves a running OpenAI-compatible server. The library is imported in the
child only (llamacpp_child.py), so a model file that its parser cannot survive takes nothing of ours with it.
"""

import importlib.metadata
import importlib.util
import sys
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import file_digest
from pathlib import Path
from typing import Any, Self

from paretoken.engines.base import LOCAL, START_TIMEOUT_S, Listen, Settings, one_of, whole
from paretoken.engines.launch import Launched, launch_program
from paretoken.errors import MissingExtraError, UsageError
from paretoken.machine.quota import cpu_quota
from paretoken.models.dimensions import dimensions
from paretoken.models.gguf_header import read_header

CONTEXT_PER_SLOT = 8192  # when none is asked for; a model trained on less gets its own
FLASH_ATTENTION = ("auto", "on", "off")
KV_TYPES = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
# In which order, and through which filters, the next token is drawn. "default" is the engine's whole chain; "short"
# leaves out top-n-sigma, typical-p and XTC, which do nothing at their default values and which OpenAI's API cannot ask
# for.
SAMPLERS = ("default", "short")
SHORT_CHAIN = ("penalties", "dry", "top_k", "top_p", "min_p", "temperature")
SPECULATIONS = ("none", "ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache")


@dataclass(frozen=True)
class LlamaCppSettings(Settings):
    """As given, these are the engine's own defaults, except that threads follow the CPU quota (llama.cpp takes the
    host's cores, which in a container with a quota is ruinous). None means: filled in by `resolved`."""

    threads: int | None = None  # for decoding; None: the CPU quota
    batch_threads: int | None = None  # for prefill; None: as `threads`
    slots: int = 1  # requests decoded together
    context_per_slot: int | None = None  # tokens; the engine rounds up to 256. None: 8192, or the model's if less
    batch: int = 2048
    ubatch: int = 512
    flash_attention: str = "auto"
    kv_type: str = "f16"
    prompt_cache: bool = True
    speculation: str = "none"
    samplers: str = "default"

    def __post_init__(self) -> None:
        for name, low, high in (
            ("threads", 1, 512),
            ("batch_threads", 1, 512),
            ("slots", 1, 256),
            ("context_per_slot", 16, 1 << 24),
            ("batch", 1, 1 << 16),
            ("ubatch", 1, 1 << 16),
        ):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), low, high)
        one_of("flash_attention", self.flash_attention, FLASH_ATTENTION)
        one_of("kv_type", self.kv_type, KV_TYPES)
        one_of("speculation", self.speculation, SPECULATIONS)
        one_of("samplers", self.samplers, SAMPLERS)
        if not isinstance(self.prompt_cache, bool):
            raise UsageError(f"prompt_cache is {self.prompt_cache!r}; give true or false")
        if self.ubatch > self.batch:
            raise UsageError(f"ubatch {self.ubatch} is more than batch {self.batch}; give at most as much")
        if self.kv_type not in ("f32", "f16", "bf16") and self.flash_attention == "off":
            raise UsageError(f"kv_type {self.kv_type} needs flash attention; set flash_attention to auto or on")

    def resolved(self, model_context: int | None = None) -> Self:
        """The same with every None filled in, for this machine and a model trained on `model_context` tokens."""
        threads = self.threads or cpu_quota()
        return replace(
            self,
            threads=threads,
            batch_threads=self.batch_threads or threads,
            context_per_slot=self.context_per_slot or min(CONTEXT_PER_SLOT, model_context or CONTEXT_PER_SLOT),
        )

    @property
    def context_total(self) -> int:
        """llama.cpp is told the sum and splits it over the slots."""
        return (self.context_per_slot or CONTEXT_PER_SLOT) * self.slots

    def requested_context(self, prompt_tokens: int, output_tokens: int, model_context: int | None = None) -> None:
        """Raises UsageError when a slot cannot hold prompt and answer, or is larger than the model's training: to be
        asked before a start, since the engine would refuse requests one by one, or cap its slots without a word."""
        has, needs = self.resolved(model_context).context_per_slot or 0, prompt_tokens + output_tokens
        if model_context is not None and max(has, needs) > model_context:
            raise UsageError(
                f"a context of {max(has, needs)} tokens per slot is more than the {model_context} that this model was "
                f"trained on; use a smaller context_per_slot and shorter requests"
            )
        if has < needs:
            raise UsageError(
                f"a context of {has} tokens per slot ({has * self.slots} over {self.slots} slots) cannot hold "
                f"{prompt_tokens} prompt + {output_tokens} output = {needs} tokens; "
                f"set context_per_slot to {needs} ({needs * self.slots} in all)"
            )


class LlamaCpp:
    name = "llamacpp"
    settings_type: type[Settings] = LlamaCppSettings

    def defaults(self) -> LlamaCppSettings:
        """What the engine does when nothing is set, every value named."""
        return LlamaCppSettings().resolved()

    def launch(
        self,
        model_path: str | None,
        settings: Settings,
        *,
        listen: Listen = LOCAL,
        log_dir: Path | None = None,
        timeout_s: float = START_TIMEOUT_S,
        cores: tuple[int, ...] | None = None,
    ) -> Launched:
        """Raises ModelError for a broken file, UsageError for settings that do not fit it, EngineError for the rest."""
        if self.missing() is not None:
            raise MissingExtraError("the engine llamacpp", "local")
        if model_path is None:
            raise UsageError("llamacpp needs a model; name one, see `paretoken models`")
        # Checked here before the engine's own parser sees the file.
        model_context = dimensions(read_header(model_path)).context_tokens
        _own(settings).requested_context(0, 0, model_context)
        resolved = _own(settings).resolved(model_context)
        return launch_program(
            self.name,
            [sys.executable, "-m", "paretoken.engines.llamacpp_child"],
            {
                "settings": resolved.as_json(),
                "context_total": resolved.context_total,
                "model": model_path,
                "chain": SHORT_CHAIN if resolved.samplers == "short" else None,
            },
            model_name=Path(model_path).stem,
            engine_args=resolved.as_json(),
            listen=listen,
            log_dir=log_dir,
            timeout_s=timeout_s,
            cores=cores,
        )

    def version(self) -> dict[str, str | None]:
        library = _library()
        if library is None:
            return {"wheel": None, "library_sha256": None}
        stat = library.stat()
        return {
            "wheel": importlib.metadata.version("xllamacpp"),
            "library_sha256": _sha256(str(library), stat.st_mtime_ns, stat.st_size),
        }

    def missing(self) -> str | None:
        return None if _library() else "the extra 'local': pip install '.[local,report]' in the checkout"

    def request_extra(self, settings: Settings) -> dict[str, Any]:
        return {} if _own(settings).prompt_cache else {"cache_prompt": False}

    def launch_command(self, settings: Settings, model_path: str | None, listen: Listen = LOCAL) -> list[str]:
        """The flags of llama.cpp's own `llama-server` that mean the same."""
        s = _own(settings).resolved()
        command = ["llama-server", "--model", model_path or "MODEL.gguf", "--host", listen.host]
        if listen.port:
            command += ["--port", str(listen.port)]
        if listen.api_key:
            command += ["--api-key-file", "FILE-WITH-THE-KEY"]
        for flag, value in (
            ("--threads", s.threads),
            ("--threads-batch", s.batch_threads),
            ("--parallel", s.slots),
            ("--ctx-size", s.context_total),
            ("--batch-size", s.batch),
            ("--ubatch-size", s.ubatch),
            ("--flash-attn", s.flash_attention),
            ("--cache-type-k", s.kv_type),
            ("--cache-type-v", s.kv_type),
        ):
            command += [flag, str(value)]
        command += ["--no-kv-unified", "--metrics", "--no-ui"]
        if not s.prompt_cache:
            command += ["--no-cache-prompt", "--cache-ram", "0"]
        if s.speculation != "none":
            command += ["--spec-type", s.speculation]
        if s.samplers == "short":
            command += ["--samplers", ";".join(SHORT_CHAIN)]
        return command


def _own(settings: Settings) -> LlamaCppSettings:
    if not isinstance(settings, LlamaCppSettings):
        raise UsageError(f"llamacpp takes LlamaCppSettings, not {type(settings).__name__}")
    return settings


def _library() -> Path | None:
    """The engine's shared object, found without importing it."""
    spec = importlib.util.find_spec("xllamacpp")
    places = spec.submodule_search_locations if spec is not None else None
    for place in places or ():
        for suffix in (".so", ".pyd"):
            found = sorted(Path(place).glob(f"xllamacpp*{suffix}"))
            if found:
                return found[0]
    return None


@lru_cache(maxsize=4)
def _sha256(path: str, mtime_ns: int, size_bytes: int) -> str:
    """Keyed by time and size too, so that a replaced library is read again."""
    with Path(path).open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
