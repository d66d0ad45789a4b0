"""A model and its decoders over the C interface: tokens in, logits out. Runs in the logits child only.

Enters a checked `Library`; leaves tokens, texts, identities and arrays of logits. What cannot be loaded or decoded is
an EngineRefused with the engine's own last error line. Knows nothing of baselines, candidates or verdicts.
"""

import ctypes
import hashlib
from collections.abc import Collection, Sequence
from ctypes import c_int32
from typing import Any

import numpy as np

from paretoken.verification.distance import Logits
from paretoken.verification.how import F16, FLASH_ATTENTION, KV_TYPES, How
from paretoken.verification.llama_abi import TOKEN_UNUSED, ChatMessage, Library

_TEXT_BYTES = 1 << 20


class EngineRefused(Exception):
    """The engine would not load, tokenise or decode; the message says what and its own last words."""


class TokensDiffer(Exception):
    """Two models cut the same text into different tokens: there is nothing to compare position by position."""


class LoadedModel:
    def __init__(self, library: Library, path: str) -> None:
        self.library = library
        self.path = path
        library.errors.clear()
        self.pointer = library.llama_model_load_from_file(path.encode(), library.llama_model_default_params())
        if not self.pointer:
            raise EngineRefused(f"the engine cannot load it{last_words(library)}")
        self.vocabulary = library.llama_model_get_vocab(self.pointer)
        self.n_vocab: int = library.llama_vocab_n_tokens(self.vocabulary)
        self.trained_context: int = library.llama_model_n_ctx_train(self.pointer)

    def identity(self) -> dict[str, Any]:
        """What must be equal before distributions can be compared: the token map, stop tokens, chat template.

        Rows that only pad the embedding are left out at the end: they differ between builds of one vocabulary.
        """
        text, attribute = self.library.llama_vocab_get_text, self.library.llama_vocab_get_attr
        tokens = [(attribute(self.vocabulary, i), text(self.vocabulary, i)) for i in range(self.n_vocab)]
        while tokens and tokens[-1][0] & TOKEN_UNUSED:
            tokens.pop()
        digest = hashlib.sha256()
        for kind, name in tokens:
            digest.update(b"%d %d " % (kind, len(name or b"")) + (name or b""))
        ends = self.library.llama_vocab_is_eog
        template = self.library.llama_model_chat_template(self.pointer, None)
        return {
            "vocab_size": self.n_vocab,
            "tokenizer_tokens": len(tokens),
            "tokenizer_sha": digest.hexdigest(),
            "stop_tokens": [i for i in range(len(tokens)) if ends(self.vocabulary, i)],
            "template_sha": None if template is None else hashlib.sha256(template).hexdigest(),
        }

    def tokens(self, text: str, *, special: bool = False) -> list[int]:
        """`special`: whether text like <|im_end|> becomes its control token; never for text from outside."""
        data = text.encode()
        room = len(data) + 8
        found = (c_int32 * room)()
        count = self.library.llama_tokenize(self.vocabulary, data, len(data), found, room, True, special)
        if count < 0:
            raise EngineRefused("the engine cannot tokenise the text")
        return list(found[:count])

    def text(self, tokens: Sequence[int]) -> str:
        given = (c_int32 * len(tokens))(*tokens)
        out = ctypes.create_string_buffer(_TEXT_BYTES)
        count = self.library.llama_detokenize(self.vocabulary, given, len(tokens), out, _TEXT_BYTES, True, False)
        return out.raw[: max(count, 0)].decode("utf-8", "replace")

    def chat(self, messages: Sequence[tuple[str, str]]) -> str | None:
        """The prompt as the model's own template writes it; None when the engine does not know that template.

        The engine's C side matches known templates and runs no template code.
        """
        template = self.library.llama_model_chat_template(self.pointer, None)
        if template is None:
            return None
        parts = (ChatMessage * len(messages))(*(ChatMessage(r.encode(), c.encode()) for r, c in messages))
        out = ctypes.create_string_buffer(_TEXT_BYTES)
        count = self.library.llama_chat_apply_template(template, parts, len(messages), True, out, _TEXT_BYTES)
        return out.raw[:count].decode("utf-8", "replace") if 0 < count <= _TEXT_BYTES else None

    def ends(self, token: int) -> bool:
        return bool(self.library.llama_vocab_is_eog(self.vocabulary, token))


class Decoder:
    """A context. `tokens_at_once` is the largest batch, `outputs` (None: all) how many of it get logits at most,
    `sequences` how many run side by side. Use as `with`."""

    def __init__(
        self,
        model: LoadedModel,
        how: How,
        *,
        length: int,
        tokens_at_once: int,
        sequences: int = 1,
        outputs: int | None = None,
    ) -> None:
        self._library = model.library
        self._n_vocab = model.n_vocab
        wanted = self._library.llama_context_default_params()
        wanted.n_ctx = max(length, 8) * sequences
        wanted.n_batch = tokens_at_once
        wanted.n_outputs_max = wanted.n_outputs_max_per_seq = outputs or tokens_at_once
        wanted.n_ubatch = min(how.ubatch, tokens_at_once)
        wanted.n_seq_max = sequences
        wanted.n_threads, wanted.n_threads_batch = how.threads, how.prefill_threads
        wanted.flash_attn_type = FLASH_ATTENTION[how.flash_attention]
        wanted.type_k = wanted.type_v = KV_TYPES[how.kv_type]
        self._library.errors.clear()
        self._library.kv_types.clear()
        self._pointer = self._library.llama_init_from_model(model.pointer, wanted)
        if not self._pointer:
            raise EngineRefused(f"the engine cannot make a context for it{last_words(self._library)}")
        for name in ("n_ubatch", "n_seq_max", "n_threads", "n_threads_batch"):
            if getattr(self._library, f"llama_{name}")(self._pointer) != getattr(wanted, name):
                raise EngineRefused(f"the engine runs with another {name} than it was given")
        # A model without any KV cache says nothing of one; then there is nothing that another type could change.
        made = self._library.kv_types
        if made - {how.kv_type} or (not made and how.kv_type != F16):
            raise EngineRefused(f"the engine keeps its KV cache as {', '.join(sorted(made)) or '?'}, not {how.kv_type}")
        self._batch = self._library.llama_batch_init(tokens_at_once, 0, 1)
        self._room = tokens_at_once

    def __enter__(self) -> "Decoder":
        return self

    def __exit__(self, *_: object) -> None:
        self._library.llama_batch_free(self._batch)
        self._library.llama_free(self._pointer)

    def forget(self) -> None:
        self._library.llama_memory_clear(self._library.llama_get_memory(self._pointer), True)

    def decode(self, rows: Sequence[tuple[int, int, int]], wanted: Collection[int] | None = None) -> Logits:
        """One batch of (token, position, sequence); the logits of every row, or of the `wanted` ones in their order,
        valid until the next call."""
        if len(rows) > self._room:
            raise ValueError(f"{len(rows)} tokens in a batch of {self._room}")
        for i, (token, position, sequence) in enumerate(rows):
            self._batch.token[i] = token
            self._batch.pos[i] = position
            self._batch.n_seq_id[i] = 1
            self._batch.seq_id[i][0] = sequence
            self._batch.logits[i] = int(wanted is None or i in wanted)
        self._batch.n_tokens = len(rows)
        status = self._library.llama_decode(self._pointer, self._batch)
        if status != 0:
            raise EngineRefused(f"decoding failed with status {status}{last_words(self._library)}")
        found = self._library.llama_get_logits(self._pointer)
        return np.ctypeslib.as_array(found, (len(rows) if wanted is None else len(wanted), self._n_vocab))

    def windows(self, windows: Sequence[Sequence[int]]) -> Logits:
        """The windows decoded in one batch, each a sequence of its own, from an empty memory."""
        self.forget()
        return self.decode([(t, i, s) for s, window in enumerate(windows) for i, t in enumerate(window)])


def last_words(library: Library) -> str:
    return f": {library.errors[-1]}" if library.errors else ""
