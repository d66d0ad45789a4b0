"""ctypes declarations of the llama.cpp C interface inside one pinned xllamacpp build.

Enters the path of the shared object; leaves a `Library` whose functions are typed. The layout of the parameter structs
belongs to the build, so the defaults that the library hands out are compared with what this build is known to say
before a single field is written; anything else is a LayoutUnknown. Imported in the logits child only: engine code is
never loaded into our own process.
"""

import ctypes
import re
from ctypes import CFUNCTYPE, POINTER, Structure, c_bool, c_char_p, c_float, c_int32, c_size_t, c_uint32, c_void_p
from typing import Any

# The build whose layout this file describes. Another one falls back to top-k evidence (topk.py).
PINNED = "2026.10.11549"

# The by-value structs are longer than declared here; the library reads and writes only its own part of the padding.
_PADDING = 512
TOKEN_UNUSED = 2  # attribute bit of rows that only pad the embedding
LOG_ERROR = 4
LOG_CONTINUES = 5


class LayoutUnknown(Exception):
    """The library is not the one that this file describes."""


class ModelParams(Structure):
    _fields_ = [("opaque", ctypes.c_uint8 * (_PADDING + 128))]


class ContextParams(Structure):
    """The leading fields, by name; the rest stays as the library's defaults have it."""

    _fields_ = [
        ("n_ctx", c_uint32),
        ("n_batch", c_uint32),
        ("n_ubatch", c_uint32),
        ("n_seq_max", c_uint32),
        ("n_rs_seq", c_uint32),
        ("n_outputs_max", c_uint32),
        ("n_outputs_max_per_seq", c_uint32),
        ("n_threads", c_uint32),
        ("n_threads_batch", c_uint32),
        ("ctx_type", c_int32),
        ("rope_scaling_type", c_int32),
        ("pooling_type", c_int32),
        ("attention_type", c_int32),
        ("flash_attn_type", c_int32),
        ("rope_freq_base", c_float),
        ("rope_freq_scale", c_float),
        ("yarn", c_float * 4),
        ("yarn_orig_ctx", c_uint32),
        ("defrag_thold", c_float),
        ("cb_eval", c_void_p),
        ("cb_eval_user_data", c_void_p),
        ("type_k", c_int32),
        ("type_v", c_int32),
        ("opaque", ctypes.c_uint8 * _PADDING),
    ]


# What the pinned build's llama_context_default_params says. Distinct enough to notice a field put in or taken out.
_EXPECTED = {
    "n_ctx": 512,
    "n_batch": 2048,
    "n_ubatch": 512,
    "n_seq_max": 1,
    "n_rs_seq": 0,
    "n_outputs_max": 0,
    "n_outputs_max_per_seq": 1,
    "n_threads": 4,
    "n_threads_batch": 4,
    "ctx_type": 0,
    "rope_scaling_type": -1,
    "pooling_type": -1,
    "attention_type": -1,
    "flash_attn_type": -1,
    "rope_freq_base": 0.0,
    "rope_freq_scale": 0.0,
    "yarn_orig_ctx": 0,
    "defrag_thold": -1.0,
    "cb_eval": None,
    "cb_eval_user_data": None,
    "type_k": 1,
    "type_v": 1,
}
# How this build names the number types of a KV cache that it has made, in its log.
_KV_LINE = re.compile(r"llama_kv_cache: size = .*\bK \((\w+)\): .*\bV \((\w+)\): ")


class Batch(Structure):
    _fields_ = [
        ("n_tokens", c_int32),
        ("token", POINTER(c_int32)),
        ("embd", c_void_p),
        ("pos", POINTER(c_int32)),
        ("n_seq_id", POINTER(c_int32)),
        ("seq_id", POINTER(POINTER(c_int32))),
        ("logits", POINTER(ctypes.c_int8)),
    ]


class ChatMessage(Structure):
    _fields_ = [("role", c_char_p), ("content", c_char_p)]


LogCallback = CFUNCTYPE(None, ctypes.c_int, c_char_p, c_void_p)

# name → (result, arguments)
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "llama_backend_init": (None, ()),
    "llama_log_set": (None, (LogCallback, c_void_p)),
    "llama_flash_attn_type_name": (c_char_p, (c_int32,)),
    "llama_model_default_params": (ModelParams, ()),
    "llama_context_default_params": (ContextParams, ()),
    "llama_model_load_from_file": (c_void_p, (c_char_p, ModelParams)),
    "llama_model_free": (None, (c_void_p,)),
    "llama_model_n_ctx_train": (c_int32, (c_void_p,)),
    "llama_init_from_model": (c_void_p, (c_void_p, ContextParams)),
    "llama_free": (None, (c_void_p,)),
    "llama_n_ctx": (c_uint32, (c_void_p,)),
    "llama_n_batch": (c_uint32, (c_void_p,)),
    "llama_n_ubatch": (c_uint32, (c_void_p,)),
    "llama_n_seq_max": (c_uint32, (c_void_p,)),
    "llama_n_threads": (c_int32, (c_void_p,)),
    "llama_n_threads_batch": (c_int32, (c_void_p,)),
    "llama_get_memory": (c_void_p, (c_void_p,)),
    "llama_memory_clear": (None, (c_void_p, c_bool)),
    "llama_batch_init": (Batch, (c_int32, c_int32, c_int32)),
    "llama_batch_free": (None, (Batch,)),
    "llama_decode": (c_int32, (c_void_p, Batch)),
    "llama_get_logits": (POINTER(c_float), (c_void_p,)),
    "llama_model_get_vocab": (c_void_p, (c_void_p,)),
    "llama_model_chat_template": (c_char_p, (c_void_p, c_char_p)),
    "llama_vocab_n_tokens": (c_int32, (c_void_p,)),
    "llama_vocab_get_text": (c_char_p, (c_void_p, c_int32)),
    "llama_vocab_get_attr": (c_int32, (c_void_p, c_int32)),
    "llama_vocab_is_eog": (c_bool, (c_void_p, c_int32)),
    "llama_tokenize": (c_int32, (c_void_p, c_char_p, c_int32, POINTER(c_int32), c_int32, c_bool, c_bool)),
    "llama_detokenize": (c_int32, (c_void_p, POINTER(c_int32), c_int32, c_char_p, c_int32, c_bool, c_bool)),
    "llama_chat_apply_template": (
        c_int32,
        (c_char_p, POINTER(ChatMessage), c_size_t, c_bool, c_char_p, c_int32),
    ),
}


class Library:
    """The shared object, its functions typed, its layout checked. Raises LayoutUnknown."""

    def __init__(self, path: str) -> None:
        try:
            self._object = ctypes.CDLL(path)
            for name, (result, arguments) in _FUNCTIONS.items():
                function = getattr(self._object, name)
                function.restype, function.argtypes = result, arguments
        except (OSError, AttributeError) as error:
            raise LayoutUnknown(f"its C interface is not to be had here ({error})") from error
        self.errors: list[str] = []
        self.kv_types: set[str] = set()  # of K and V, as said since this was last cleared
        self._callback = LogCallback(self._heard)  # kept alive as long as the library may call it
        self.llama_log_set(self._callback, None)
        self._check_layout()
        self.llama_backend_init()

    def __getattr__(self, name: str) -> Any:
        """The C function of that name."""
        if name not in _FUNCTIONS:
            raise AttributeError(name)
        return getattr(self._object, name)

    def _check_layout(self) -> None:
        defaults = self.llama_context_default_params()
        for field, expected in _EXPECTED.items():
            found = getattr(defaults, field)
            if found != expected:
                raise LayoutUnknown(f"its default {field} reads {found}, not {expected}")
        if tuple(defaults.yarn) != (-1.0,) * 4:
            raise LayoutUnknown(f"its default yarn factors read {tuple(defaults.yarn)}, not -1")
        names = tuple(self.llama_flash_attn_type_name(value) for value in (-1, 0, 1))
        if names != (b"auto", b"disabled", b"enabled"):
            raise LayoutUnknown(f"its flash attention types are {names}")

    def _heard(self, level: int, text: bytes, _: int | None) -> None:
        """Keeps the last few error lines: they become the sentence when a model cannot be loaded. And what it says of
        its KV caches: no function tells their number type."""
        if level == LOG_ERROR or (level == LOG_CONTINUES and self.errors):
            self.errors = [*self.errors[-7:], text.decode("utf-8", "replace").strip()[:300]]
        elif made := _KV_LINE.match(text.decode("utf-8", "replace")):
            self.kv_types.update(made.groups())
