"""Quantising: the matrices of a GGUF model in another number type.

Enters a model and a type; leaves a model made once through its lineage, its metadata copied byte for byte. A matrix
whose width the type's blocks do not fit falls back to F16, and the result is named by what its matrices really are.
Starting from an already quantised file cannot win back what its publisher rounded away: F16 of it is, up to rounding,
the same function in other bytes.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from paretoken.core.candidate import MODEL_LEVEL, Applied, Candidate, Model
from paretoken.errors import ModelError, UsageError
from paretoken.models import lineage
from paretoken.models.dimensions import EMBEDDING, OUTPUT, Dimensions, dimensions
from paretoken.models.fingerprint import fingerprint
from paretoken.models.gguf_header import Header, Tensor, read_header
from paretoken.models.gguf_types import BY_NAME, FILE_TYPES
from paretoken.models.gguf_write import Change, bytes_as, write_like
from paretoken.techniques.base import Situation

# From the most bits to the fewest.
TYPES = (
    *("F16", "BF16", "Q8_0", "Q6_K", "Q5_1", "Q5_K", "Q5_0", "Q4_1", "Q4_K", "Q4_0", "IQ4_NL"),
    *("IQ4_XS", "MXFP4", "Q3_K", "Q2_K"),
)
FALLBACK = "F16"
# The matrix that makes the logits is never rounded more coarsely: its error goes straight into every choice.
OUTPUT_AT_LEAST = "Q8_0"
# Small or touchy matrices that stay as they are, as engines expect them.
KEPT = ("_norm", "ffn_gate_inp", "position_embd", "token_types", "ssm_conv1d", "rope_")
KEPT_TYPES = ("I8", "I16", "I32", "I64", "F64")


class Quantize:
    name = "quantize"
    level = MODEL_LEVEL
    needs = "a GGUF model; disk for a second copy; the extra 'local'"
    risk = "fewer bits move the answers, and not in the order of the bits; smaller is not always faster"
    engines: tuple[str, ...] = ("llamacpp",)

    def options(self, situation: Situation) -> list[dict[str, Any]]:
        if situation.engine not in self.engines:
            return []
        given = {tensor.name: tensor.type for tensor in situation.header.tensors}
        found: list[dict[str, Any]] = []
        plans = [given]
        for kind in TYPES:
            types = plan(situation.header, kind)
            # A type that matrices fall back from is another one under its own name.
            if types not in plans and _fits(situation.header, kind):
                plans.append(types)
                found.append({"to": kind})
        return found

    def apply(self, candidate: Candidate, settings: Mapping[str, Any], cache: Path | None = None) -> Candidate:
        made = quantize(candidate.model, settings["to"], cache)
        return replace(
            candidate,
            label=f"{candidate.label} · {self.words(settings)}",
            model=made,
            techniques=(*candidate.techniques, Applied(self.name, self.level, dict(settings))),
        )

    def words(self, settings: Mapping[str, Any]) -> str:
        return str(settings["to"])


def plan(header: Header, to: str) -> dict[str, str]:
    """The number type of every tensor when the model is quantised to `to`."""
    output = _output_of(header)
    return {tensor.name: _type_for(tensor, to, output) for tensor in header.tensors}


def _fits(header: Header, to: str) -> bool:
    """Whether the blocks of a type fit the width of every matrix that it would be given."""
    output = _output_of(header)
    return all(
        tensor.width % BY_NAME[to].block_items == 0 for tensor in header.tensors if _is_changed(tensor, to, output)
    )


def _output_of(header: Header) -> str:
    return OUTPUT if any(tensor.name == OUTPUT for tensor in header.tensors) else EMBEDDING


def _is_matrix(tensor: Tensor) -> bool:
    named = len(tensor.shape) > 1 and tensor.name.endswith(".weight")
    return named and tensor.type not in KEPT_TYPES and not any(part in tensor.name for part in KEPT)


def _is_changed(tensor: Tensor, to: str, output: str) -> bool:
    """Whether this very type is meant for it, and not the finer one of the output."""
    return _is_matrix(tensor) and (tensor.name != output or TYPES.index(to) <= TYPES.index(OUTPUT_AT_LEAST))


def _type_for(tensor: Tensor, to: str, output: str) -> str:
    if not _is_matrix(tensor):
        return tensor.type
    if not _is_changed(tensor, to, output):
        to = OUTPUT_AT_LEAST
    return to if tensor.width % BY_NAME[to].block_items == 0 else FALLBACK


def type_named(text: str) -> str:
    """'q8_0' → 'Q8_0'. Raises UsageError that lists what there is."""
    if text.upper() not in TYPES:
        raise UsageError(f"'{text}' is not a type to quantise to; there are: {', '.join(TYPES)}")
    return text.upper()


def quantize(model: Model, to: str, cache: Path | None = None) -> Model:
    """`model` with its matrices as `to` (one of TYPES), made once and reused.

    Raises UsageError for another type, ModelError for weights that are not finite or a file that is not intact, and
    MissingExtraError where the quantiser is not installed."""
    to = type_named(to)
    path = Path(model.path)
    header = read_header(path)
    before = dimensions(header)
    types = plan(header, to)
    if all(types[tensor.name] == tensor.type for tensor in header.tensors):
        raise ModelError(f"'{model.name}' would stay what it is as {to}: {before.label}; choose another type")
    if fingerprint(path, cache) != model.fingerprint:
        raise ModelError(f"the file of '{model.name}' is not what it was when it was named; repeat the command")
    after = dimensions(_as_planned(header, types))

    def build(target: Path) -> dict[str, Any]:
        from paretoken.techniques.model.rows import converted

        write_like(path, header, Change(types, _numbers(header, types, after)), target, converted)
        return _facts(before, after)

    return lineage.make(
        model,
        Quantize.name,
        {"to": to},
        build,
        name=f"{model.name}-{after.file_type}",
        bytes_needed=header.file_bytes + sum(bytes_as(tensor, types[tensor.name]) for tensor in header.tensors),
        cache=cache,
    )


def _as_planned(header: Header, types: Mapping[str, str]) -> Header:
    """The header with the new types, for sizes and labels only: offsets are still the old file's."""
    tensors = [
        replace(tensor, type=types[tensor.name], bytes=bytes_as(tensor, types[tensor.name]))
        for tensor in header.tensors
    ]
    return replace(header, tensors=tuple(tensors))


def _numbers(header: Header, types: Mapping[str, str], after: Dimensions) -> dict[str, int]:
    """Metadata that has to follow the types."""
    numbers = {}
    if after.file_type in FILE_TYPES:
        numbers["general.file_type"] = FILE_TYPES[after.file_type]
    if "general.quantization_version" not in header.metadata and any(BY_NAME[t].quantised for t in types.values()):
        numbers["general.quantization_version"] = 2
    return numbers


def _facts(before: Dimensions, after: Dimensions) -> dict[str, Any]:
    already = any(BY_NAME[name].quantised for name, _ in before.mix)
    if not already:
        note = "made from unquantised weights"
    elif after.file_type == "F16":
        note = "the base was already quantised: F16 of it is, up to rounding, the same function"
    else:
        note = "the base was already quantised: its weights were rounded a second time"
    return {
        "type": after.file_type,
        "label": after.label,
        "base_label": before.label,
        "base_already_quantised": already,
        "note": note,
    }
