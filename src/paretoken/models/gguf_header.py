"""The header of a GGUF file (v2, v3), read without trusting it.

Enters a path; leaves a frozen `Header`. Only the header region is read, in steps, and every length is checked against
the file's size and the caps below before anything is allocated: a truncated, huge-length or hostile file is a
ModelError of one sentence, never a crash, a hang or memory beyond the file. Weights are never read here.

This does not make an engine's own parser safe: models are code-like, and engines load them in a child process.
"""

import os
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from paretoken.errors import ModelError
from paretoken.models.gguf_types import ARRAY, BY_NAME, NUMBER_TYPES, SCALARS, STRING
from paretoken.models.shown import shown

# Caps. The largest published headers (vocabularies of 262k tokens) hold about 16 MiB, 60 keys and 2k tensors.
HEADER_BYTES = 64 * 2**20
KEYS = 4096
KEY_BYTES = 65_535
TEXT_BYTES = 2**20
TENSORS = 65_536
NAME_BYTES = 256
DIMENSIONS = 4
ARRAY_STRINGS = 2_000_000  # over all arrays: bounds the time spent on stepping over a tokenizer
KEPT_ITEMS = 512  # longer arrays keep only their first items: nothing here needs a whole tokenizer
FIRST_ITEMS = 8
READ_STEP = 2**20

Scalar = int | float | bool | str


@dataclass(frozen=True, slots=True)
class Items:
    """An array of the metadata: how many items there are, and the first of them (all, if they are few)."""

    count: int
    first: tuple[Scalar, ...]

    @property
    def whole(self) -> bool:
        return len(self.first) == self.count


Value = Scalar | Items


@dataclass(frozen=True, slots=True)
class Tensor:
    """`shape` starts with the row's width, as the file does; `offset` counts from the file's start."""

    name: str
    shape: tuple[int, ...]
    type: str
    offset: int
    bytes: int

    @property
    def width(self) -> int:
        return self.shape[0]

    @property
    def items(self) -> int:
        count = 1
        for side in self.shape:
            count *= side
        return count

    @property
    def rows(self) -> int:
        return self.items // self.width


@dataclass(frozen=True, slots=True)
class Header:
    """What the file says of itself. `spans` are the bytes of each metadata entry in the file, for exact copies."""

    version: int
    metadata: Mapping[str, Value]
    tensors: tuple[Tensor, ...]
    spans: Mapping[str, tuple[int, int]]
    alignment: int
    file_bytes: int

    @property
    def architecture(self) -> str:
        return str(self.metadata["general.architecture"])


def read_header(path: str | Path) -> Header:
    """Reads and checks the header of the GGUF file at `path`. Raises ModelError."""
    try:
        # A FIFO or a device would block or never end, so this is looked at before anything is opened.
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise ModelError(f"'{shown(path)}' is not a regular file; name a .gguf file")
        with Path(path).open("rb", buffering=0) as file:
            return _header(_Region(file, shown(path), os.fstat(file.fileno()).st_size))
    except OSError as error:
        raise ModelError(f"cannot read the model file '{shown(path)}': {error.strerror or error}") from error
    except UnicodeError as error:
        raise ModelError(f"the path '{shown(path)}' cannot be a file's; name a .gguf file") from error


def _quoted(name: str) -> str:
    """A name from the file, short and without control characters, for a sentence."""
    return repr(name if len(name) <= 60 else f"{name[:57]}...")


class _Region:
    """The file's first bytes, read on demand up to a cap; the only place that allocates by a length from the file."""

    def __init__(self, file: BinaryIO, name: str, file_bytes: int) -> None:
        self._file = file
        self._name = name
        self._limit = min(file_bytes, HEADER_BYTES)
        self.file_bytes = file_bytes
        self.data = bytearray()
        self.at = 0
        self._strings_left = ARRAY_STRINGS

    def broken(self, reason: str) -> ModelError:
        return ModelError(f"'{self._name}' is not a usable GGUF file: {reason}; get the file again from its source")

    def take(self, count: int, what: str) -> int:
        """Moves past `count` bytes and returns where they start in `data`."""
        start = self.at
        self._reach(start + count, what)
        self.at += count
        return start

    def _reach(self, end: int, what: str) -> None:
        """Reads on until `data` holds the bytes before `end`."""
        if end > self._limit:
            where = "the file's end" if self._limit == self.file_bytes else f"the first {HEADER_BYTES >> 20} MiB"
            raise self.broken(f"{what} would reach beyond {where}")
        while len(self.data) < end:
            chunk = self._file.read(READ_STEP)
            if not chunk:
                raise self.broken("it became shorter while it was read")
            self.data += chunk

    def scalar(self, kind: int, what: str) -> int | float | bool:
        form = SCALARS[kind]
        value: int | float | bool = struct.unpack_from(form, self.data, self.take(struct.calcsize(form), what))[0]
        return value

    def u32(self, what: str) -> int:
        return int(struct.unpack_from("<I", self.data, self.take(4, what))[0])

    def u64(self, what: str) -> int:
        return int(struct.unpack_from("<Q", self.data, self.take(8, what))[0])

    def raw(self, cap: int, what: str) -> bytes:
        count = self.u64(what)
        if count > cap:
            raise self.broken(f"{what} claims {count} bytes (at most {cap} are accepted)")
        start = self.take(count, what)
        return bytes(self.data[start : start + count])

    def name(self, cap: int, what: str) -> str:
        try:
            return self.raw(cap, what).decode()
        except UnicodeDecodeError as error:
            raise self.broken(f"{what} is not UTF-8") from error

    def text(self, what: str) -> str:
        return self.raw(TEXT_BYTES, what).decode(errors="replace")

    def skip_strings(self, count: int, what: str) -> None:
        """Steps over a tokenizer's words by their lengths. Written flat: it runs some 100,000 times a file."""
        data, at, length_of = self.data, self.at, struct.Struct("<Q").unpack_from
        for _ in range(count):
            if at + 8 > len(data):
                self._reach(at + 8, what)
            at += 8 + length_of(data, at)[0]
        self._reach(at, what)
        self.at = at

    def count_strings(self, count: int, what: str) -> None:
        self._strings_left -= count
        if self._strings_left < 0 or count * 8 > self.file_bytes:
            raise self.broken(f"{what} claims {count} strings")


def _header(region: _Region) -> Header:
    magic = bytes(region.data[region.take(4, "the magic") :][:4])
    if magic != b"GGUF":
        raise region.broken("it does not start with 'GGUF'")
    version = region.u32("the version")
    if version not in (2, 3):
        # A big-endian file shows its version in the upper bytes.
        found = "big-endian" if version and version & 0xFFFF == 0 else f"GGUF version {version}"
        raise region.broken(f"it is {found}, and versions 2 and 3 in little-endian order are read")
    tensor_count = region.u64("the number of tensors")
    key_count = region.u64("the number of keys")
    if not 0 < tensor_count <= TENSORS:
        raise region.broken(f"it claims {tensor_count} tensors (1 to {TENSORS} are accepted)")
    if key_count > KEYS:
        raise region.broken(f"it claims {key_count} keys (at most {KEYS} are accepted)")
    metadata, spans = _metadata(region, key_count)
    alignment = _alignment(region, metadata)
    if not isinstance(metadata.get("general.architecture"), str):
        raise region.broken("it names no general.architecture")
    described = [_described(region) for _ in range(tensor_count)]
    data_at = -(-region.at // alignment) * alignment
    tensors = _placed(region, described, data_at, alignment)
    return Header(version, MappingProxyType(metadata), tensors, MappingProxyType(spans), alignment, region.file_bytes)


def _metadata(region: _Region, count: int) -> tuple[dict[str, Value], dict[str, tuple[int, int]]]:
    metadata: dict[str, Value] = {}
    spans: dict[str, tuple[int, int]] = {}
    for _ in range(count):
        start = region.at
        key = region.name(KEY_BYTES, "a key")
        if key in metadata:
            raise region.broken(f"the key {_quoted(key)} stands twice")
        metadata[key] = _value(region, f"the value of {_quoted(key)}")
        spans[key] = (start, region.at)
    return metadata, spans


def _value(region: _Region, what: str) -> Value:
    kind = region.u32(what)
    if kind == STRING:
        return region.text(what)
    if kind == ARRAY:
        return _items(region, what)
    if kind not in SCALARS:
        raise region.broken(f"{what} has the unknown type {kind}")
    return region.scalar(kind, what)


def _items(region: _Region, what: str) -> Items:
    kind = region.u32(what)
    count = region.u64(what)
    kept = count if count <= KEPT_ITEMS else FIRST_ITEMS
    if kind == STRING:
        region.count_strings(count, what)
        first = tuple(region.text(what) for _ in range(kept))
        region.skip_strings(count - kept, what)
        return Items(count, first)
    if kind not in SCALARS:
        # Arrays of arrays are allowed by the format, used by nobody, and a way to nest without end.
        raise region.broken(f"{what} is an array of {'arrays' if kind == ARRAY else f'the unknown type {kind}'}")
    form = SCALARS[kind]
    start = region.take(count * struct.calcsize(form), what)
    return Items(count, struct.unpack_from(f"<{kept}{form[1]}", region.data, start))


def _alignment(region: _Region, metadata: Mapping[str, Value]) -> int:
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or not 8 <= alignment <= 65_536 or alignment & (alignment - 1):
        raise region.broken(
            f"general.alignment is {str(alignment)[:40]!r} (a power of two from 8 to 65536 is accepted)"
        )
    return alignment


def _described(region: _Region) -> tuple[str, tuple[int, ...], str, int]:
    """One entry of the tensor table: name, shape, type, offset inside the data part."""
    name = region.name(NAME_BYTES, "a tensor's name")
    sides = region.u32(f"the shape of {_quoted(name)}")
    if not 1 <= sides <= DIMENSIONS:
        raise region.broken(f"the tensor {_quoted(name)} claims {sides} dimensions (1 to {DIMENSIONS} are accepted)")
    shape = tuple(region.u64(f"the shape of {_quoted(name)}") for _ in range(sides))
    kind = region.u32(f"the type of {_quoted(name)}")
    if kind not in NUMBER_TYPES:
        raise region.broken(f"the tensor {_quoted(name)} has the unknown type {kind}")
    return name, shape, NUMBER_TYPES[kind].name, region.u64(f"the offset of {_quoted(name)}")


def _placed(
    region: _Region, described: list[tuple[str, tuple[int, ...], str, int]], data_at: int, alignment: int
) -> tuple[Tensor, ...]:
    """The tensors with their bytes: each fits its type, lies inside the file, and shares no byte with another."""
    tensors = []
    names = set()
    for name, shape, kind, offset in described:
        if name in names:
            raise region.broken(f"the tensor {_quoted(name)} stands twice")
        names.add(name)
        number = BY_NAME[kind]
        if 0 in shape or shape[0] % number.block_items:
            raise region.broken(f"the shape {list(shape)} of {_quoted(name)} does not fit the type {kind}")
        rows = Tensor(name, shape, kind, 0, 0).rows
        size = rows * number.row_bytes(shape[0])
        if offset % alignment or data_at + offset + size > region.file_bytes:
            raise region.broken(f"the tensor {_quoted(name)} lies outside the file (is it cut short?)")
        tensors.append(Tensor(name, shape, kind, data_at + offset, size))
    for left, right in pairwise(sorted(tensors, key=lambda tensor: tensor.offset)):
        if left.offset + left.bytes > right.offset:
            raise region.broken(f"the tensors {_quoted(left.name)} and {_quoted(right.name)} overlap")
    return tuple(tensors)
