"""Numbers of a tensor from one type into another, a piece at a time.

Enters an open file and a tensor in it; leaves the new bytes. Weights that are not finite, or too large for the half
floats that every target type uses, are refused by the tensor's name. The rounding is ggml's own (libgguf).
"""

from collections.abc import Iterator
from types import ModuleType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from paretoken.errors import MissingExtraError, ModelError
from paretoken.models.gguf_header import Tensor
from paretoken.models.gguf_types import BY_NAME, NUMBER_TYPE_IDS

# A whole number of every type's blocks. Blocks do not depend on each other, so a piece may end inside a row.
PIECE_ITEMS = 2**22
LARGEST = float(np.finfo(np.float16).max)
LARGEST_KEPT = float(np.finfo(np.float32).max)  # what stays as it is only has to be finite
NOT_READ = ("I8", "I16", "I32", "I64", "F64")


def converted(file: BinaryIO, tensor: Tensor, to: str) -> Iterator[bytes]:
    """The tensor's bytes as `to`. Raises ModelError, MissingExtraError."""
    number = BY_NAME[tensor.type]
    file.seek(tensor.offset)
    for start in range(0, tensor.items, PIECE_ITEMS):
        count = min(PIECE_ITEMS, tensor.items - start)
        raw = file.read(number.row_bytes(count))
        if len(raw) != number.row_bytes(count):
            raise ModelError(f"the model file became shorter while its tensor '{tensor.name}' was read; get it again")
        if tensor.type in NOT_READ:
            yield raw
            continue
        numbers = floats(raw, tensor.type, count)
        _check(numbers, tensor.name, LARGEST if to != tensor.type else LARGEST_KEPT)
        yield raw if to == tensor.type else packed(numbers, to)


def floats(raw: bytes, kind: str, count: int) -> NDArray[np.float32]:
    """`count` numbers of this type as float32."""
    if kind == "F32":
        return np.frombuffer(raw, dtype="<f4")
    if kind == "F16":
        return np.frombuffer(raw, dtype="<f2").astype(np.float32)
    if kind == "BF16":
        return (np.frombuffer(raw, dtype="<u2").astype(np.uint32) << 16).view(np.float32)
    try:
        unpacked: Any = _quantiser().dequantize_rows_raw(NUMBER_TYPE_IDS[kind], raw, 1, count)
    except ValueError as error:
        raise ModelError(
            f"the number type {kind} cannot be read here ({error}); take the model in another type"
        ) from error
    return np.frombuffer(unpacked, dtype=np.float32)


def packed(numbers: NDArray[np.float32], kind: str) -> bytes:
    """float32 numbers, a whole number of blocks, as this type."""
    if kind == "F16":
        return numbers.astype("<f2").tobytes()
    if kind == "BF16":
        # Rounded to the nearest, ties to even: half of the last kept bit is added before the lower half is cut off.
        bits = numbers.astype("<f4").view("<u4")
        rounded: bytes = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()
        return rounded
    packed_bytes: bytes = _quantiser().quantize_rows_raw(NUMBER_TYPE_IDS[kind], numbers, 1, numbers.size)
    return packed_bytes


def _check(numbers: NDArray[np.float32], name: str, largest: float) -> None:
    # NaN is neither above nor below a bound, so the comparison is written to be false for it.
    if not (numbers.max() <= largest and numbers.min() >= -largest):
        what = "a number beyond F16's range" if np.isfinite(numbers).all() else "a NaN or an infinity"
        raise ModelError(f"the model's tensor '{name}' holds {what}; its weights are broken, get it again")


def _quantiser() -> ModuleType:
    try:
        import libgguf
    except ImportError as error:
        raise MissingExtraError("quantize", "local") from error
    module: ModuleType = libgguf
    return module
