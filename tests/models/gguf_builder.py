"""Builds small GGUF files, valid or broken on purpose, byte by byte; independent of the reader and writer in src."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

TYPE_IDS = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 8, "BF16": 30, "I32": 26}


def string(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw)) + raw


def text(value: str | bytes) -> bytes:
    return struct.pack("<I", 8) + string(value)


def u32(value: int) -> bytes:
    return struct.pack("<II", 4, value)


def f32(value: float) -> bytes:
    return struct.pack("<If", 6, value)


def true() -> bytes:
    return struct.pack("<I?", 7, True)


def strings(values: Sequence[str]) -> bytes:
    return struct.pack("<IIQ", 9, 8, len(values)) + b"".join(string(value) for value in values)


def i32s(values: Sequence[int]) -> bytes:
    return struct.pack(f"<IIQ{len(values)}i", 9, 5, len(values), *values)


def array_claim(kind: int, count: int) -> bytes:
    """The head of an array that claims `count` items and brings none."""
    return struct.pack("<IIQ", 9, kind, count)


@dataclass
class Entry:
    """A tensor as the file describes it. `offset` None: right after the one before, as it should be."""

    name: str | bytes
    shape: Sequence[int]
    kind: int
    data: bytes
    offset: int | None = None


@dataclass
class Gguf:
    keys: list[tuple[str | bytes, bytes]] = field(default_factory=list)
    tensors: list[Entry] = field(default_factory=list)
    magic: bytes = b"GGUF"
    version: int = 3
    tensor_count: int | None = None
    key_count: int | None = None
    alignment: int = 32

    def head(self) -> bytes:
        out = self.magic + struct.pack(
            "<IQQ",
            self.version,
            len(self.tensors) if self.tensor_count is None else self.tensor_count,
            len(self.keys) if self.key_count is None else self.key_count,
        )
        for key, value in self.keys:
            out += string(key) + value
        at = 0
        for tensor in self.tensors:
            offset = at if tensor.offset is None else tensor.offset
            out += string(tensor.name) + struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
            out += struct.pack("<IQ", tensor.kind, offset)
            at += self._padded(len(tensor.data))
        return out

    def build(self) -> bytes:
        out = self.head()
        out += bytes(-len(out) % self.alignment)
        for tensor in self.tensors:
            out += tensor.data + bytes(-len(tensor.data) % self.alignment)
        return out

    def _padded(self, count: int) -> int:
        return count + -count % self.alignment


def floats(shape: Sequence[int], seed: int, kind: str = "F32") -> bytes:
    """Normal weights as F32, F16 or BF16 bytes."""
    values = np.random.default_rng(seed).normal(0.0, 0.05, int(np.prod(shape))).astype(np.float32)
    if kind == "BF16":
        return (values.view(np.uint32) >> 16).astype("<u2").tobytes()
    return values.astype({"F32": "<f4", "F16": "<f2"}[kind]).tobytes()


def small_llama(
    *,
    name: str = "tiny",
    layers: int = 2,
    width: int = 64,
    vocabulary: int = 600,
    kind: str = "F32",
    seed: int = 0,
    tied: bool = True,
    keys: Sequence[tuple[str, bytes]] = (),
) -> Gguf:
    """A llama-shaped model of random weights: 4 heads, 2 KV heads, a tokenizer of `vocabulary` words."""
    half = width // 2

    def weight(weight_name: str, *shape: int) -> Entry:
        number = kind if len(shape) > 1 else "F32"
        at = seed * 1000 + len(tensors)
        return Entry(weight_name, shape, TYPE_IDS[number], floats(shape, at, number))

    tensors: list[Entry] = []
    tensors.append(weight("token_embd.weight", width, vocabulary))
    for layer in range(layers):
        shapes: dict[str, Any] = {
            "attn_norm": (width,),
            "attn_q": (width, width),
            "attn_k": (width, half),
            "attn_v": (width, half),
            "attn_output": (width, width),
            "ffn_up": (width, 2 * width),
            "ffn_down": (2 * width, width),
        }
        for part, shape in shapes.items():
            tensors.append(weight(f"blk.{layer}.{part}.weight", *shape))
    tensors.append(weight("output_norm.weight", width))
    if not tied:
        tensors.append(weight("output.weight", width, vocabulary))
    return Gguf(
        keys=[
            ("general.architecture", text("llama")),
            ("general.name", text(name)),
            ("general.file_type", u32(0)),
            ("llama.block_count", u32(layers)),
            ("llama.context_length", u32(2048)),
            ("llama.embedding_length", u32(width)),
            ("llama.attention.head_count", u32(4)),
            ("llama.attention.head_count_kv", u32(2)),
            ("llama.rope.freq_base", f32(10_000.0)),
            ("tokenizer.ggml.tokens", strings([f"word{index}" for index in range(vocabulary)])),
            ("tokenizer.ggml.token_type", i32s([1] * vocabulary)),
            ("tokenizer.ggml.add_bos_token", true()),
            ("tokenizer.chat_template", text("{% for m in messages %}{{ m.content }}{% endfor %}")),
            ("acme.unknown", strings(["kept", "as", "it", "is"])),
            *keys,
        ],
        tensors=tensors,
    )
