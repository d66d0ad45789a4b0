"""Writes a GGUF file that is another one with some tensors in other number types.

Enters a checked header, new types and the function that turns a tensor's bytes; leaves a file. The metadata
(tokenizer, chat template, all keys known or not) is copied byte for byte, except the numbers that are set. Knows
nothing of how numbers are rounded.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from paretoken.errors import ModelError
from paretoken.models.gguf_header import Header, Tensor
from paretoken.models.gguf_types import BY_NAME, NUMBER_TYPE_IDS, UINT32

# (the source file, the tensor in it, the new type) → the tensor's new bytes, in pieces
Convert = Callable[[BinaryIO, Tensor, str], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class Change:
    """`types`: number type per tensor name, all tensors; `numbers`: metadata to set, as uint32."""

    types: Mapping[str, str]
    numbers: Mapping[str, int]


def bytes_as(tensor: Tensor, kind: str) -> int:
    """The bytes of this tensor in another number type, whose blocks must fit its width."""
    return tensor.rows * BY_NAME[kind].row_bytes(tensor.width)


def write_like(source: Path, header: Header, change: Change, target: Path, convert: Convert) -> None:
    """Writes `target`. Memory holds the metadata and one piece of one tensor. Raises ModelError, OSError."""
    with source.open("rb") as old, target.open("wb") as new:
        keys = _metadata(old, header, change)
        new.write(struct.pack("<4sIQQ", b"GGUF", 3, len(header.tensors), len(keys)))
        new.writelines(keys)
        new.write(_table(header, change))
        for tensor in header.tensors:
            _pad(new, header.alignment)
            kind = change.types[tensor.name]
            start = new.tell()
            for piece in convert(old, tensor, kind):
                new.write(piece)
            if new.tell() - start != bytes_as(tensor, kind):
                raise ModelError(f"the tensor '{tensor.name}' did not come out with the bytes of {kind}; report this")
        _pad(new, header.alignment)


def _metadata(old: BinaryIO, header: Header, change: Change) -> list[bytes]:
    keys = []
    for key, (start, end) in header.spans.items():
        if key not in change.numbers:
            old.seek(start)
            keys.append(old.read(end - start))
    for key, number in change.numbers.items():
        keys.append(_text(key) + struct.pack("<II", UINT32, number))
    return keys


def _table(header: Header, change: Change) -> bytes:
    """The tensor table; offsets count from the aligned start of the data."""
    table = bytearray()
    offset = 0
    for tensor in header.tensors:
        kind = change.types[tensor.name]
        table += _text(tensor.name)
        table += struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
        table += struct.pack("<IQ", NUMBER_TYPE_IDS[kind], offset)
        offset += -(-bytes_as(tensor, kind) // header.alignment) * header.alignment
    return bytes(table)


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _pad(file: BinaryIO, alignment: int) -> None:
    file.write(bytes(-file.tell() % alignment))
