"""A model's sizes, derived from its header: what one decode step reads, what one token keeps, what it is made of.

Enters a Header; leaves numbers for limits (MBU, MFU) and labels. A size that the header does not give is None; one
that makes no sense is a ModelError. The weights themselves are not read.
"""

from dataclasses import dataclass

from paretoken.errors import ModelError
from paretoken.models.gguf_header import Header, Items, Tensor
from paretoken.models.gguf_types import BY_NAME

EMBEDDING = "token_embd.weight"
OUTPUT = "output.weight"
# No published model is near; beyond it a size is nonsense and would only make nonsense figures.
LARGEST_SIZE = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Dimensions:
    """`weight_bytes_per_step` and `active_parameters` are for one token alone: of the experts only the chosen share."""

    architecture: str
    parameters: int
    active_parameters: int
    layers: int | None
    d_model: int | None
    heads: int | None
    kv_heads: int | None  # of the largest layer
    context_tokens: int | None
    vocabulary: int | None
    tied: bool  # the embedding is also the output matrix, so a decode step reads all of it
    file_type: str  # number type of most of the layers' matrices, whatever general.file_type claims
    mix: tuple[tuple[str, float], ...]  # number type → share of all matrices' parameters, largest first
    weight_bytes_per_step: int
    kv_items_per_token: int | None
    head_width: int | None  # numbers in the key of one head

    @property
    def label(self) -> str:
        """'Q4_1 (79 %) + Q8_0 (21 %)': all the matrices' types, so that a fallback is named as what it is."""
        if len(self.mix) == 1:
            return self.mix[0][0]
        return " + ".join(f"{name} ({share * 100:.0f} %)" for name, share in self.mix)

    def kv_bytes_per_token(self, kv_type: str = "f16") -> int | None:
        """Bytes that one token keeps in the KV cache, keys and values of all layers, at this number type."""
        number = BY_NAME.get(kv_type.upper())
        if number is None:
            raise ModelError(f"'{kv_type}' is not a number type of a KV cache; write for example f16 or q8_0")
        if self.kv_items_per_token is None:
            return None
        return self.kv_items_per_token * number.block_bytes // number.block_items


def dimensions(header: Header) -> Dimensions:
    """Derives the sizes. Raises ModelError where the header gives a size that cannot be."""
    names = {tensor.name for tensor in header.tensors}
    tied = OUTPUT not in names
    layers = _size(header, "block_count")
    if layers is not None and layers > len(header.tensors):
        raise ModelError(f"the model's header claims {layers} layers in {len(header.tensors)} tensors; get it again")
    kv_heads = _per_layer(header, "attention.head_count_kv", layers) or _per_layer(
        header, "attention.head_count", layers
    )
    heads = _per_layer(header, "attention.head_count", layers)
    share = _expert_share(header)
    # Norms and biases stay F32 in every file and say nothing of its type. A file without matrices counts all.
    matrices = [tensor for tensor in header.tensors if len(tensor.shape) > 1] or list(header.tensors)
    used = [tensor for tensor in header.tensors if tied or tensor.name != EMBEDDING]
    return Dimensions(
        architecture=header.architecture,
        parameters=sum(tensor.items for tensor in header.tensors),
        active_parameters=round(sum(tensor.items * _part(tensor, share) for tensor in used)),
        layers=layers,
        d_model=_size(header, "embedding_length"),
        heads=max(heads) if heads else None,
        kv_heads=max(kv_heads) if kv_heads else None,
        context_tokens=_size(header, "context_length"),
        vocabulary=_vocabulary(header),
        tied=tied,
        file_type=_mix([tensor for tensor in matrices if tensor.name not in (EMBEDDING, OUTPUT)] or matrices)[0][0],
        mix=_mix(matrices),
        weight_bytes_per_step=round(sum(tensor.bytes * _part(tensor, share) for tensor in used)),
        kv_items_per_token=_kv_items(header, heads, kv_heads),
        head_width=_head_width(header, heads),
    )


def _size(header: Header, name: str) -> int | None:
    """A whole number of the architecture's own keys, or None where there is no such key or it is 0 (not used)."""
    value = header.metadata.get(f"{header.architecture}.{name}")
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LARGEST_SIZE:
        raise ModelError(f"the model's header gives '{name}' as {str(value)[:40]!r}, which is no size; get it again")
    return value or None


def _per_layer(header: Header, name: str, layers: int | None) -> list[int] | None:
    """A count that is given once for all layers or once for each (0 where a layer has no attention)."""
    value = header.metadata.get(f"{header.architecture}.{name}")
    if not isinstance(value, Items):
        size = _size(header, name)
        return None if size is None or layers is None else [size] * layers
    counts = [item for item in value.first if isinstance(item, int) and 0 <= item <= LARGEST_SIZE]
    if len(counts) != value.count or value.count != layers:
        raise ModelError(
            f"the model's header gives '{name}' for {value.count} layers, but it has {layers}; get it again"
        )
    return counts


def _kv_items(header: Header, heads: list[int] | None, kv_heads: list[int] | None) -> int | None:
    """Numbers kept a token: keys and values of every KV head of every layer."""
    head = _share_of_a_head(header, heads)
    if not kv_heads or head is None:
        return None
    key = _size(header, "attention.key_length") or head
    value = _size(header, "attention.value_length") or head
    return sum(kv_heads) * (key + value)


def _head_width(header: Header, heads: list[int] | None) -> int | None:
    return _size(header, "attention.key_length") or _share_of_a_head(header, heads)


def _share_of_a_head(header: Header, heads: list[int] | None) -> int | None:
    """The model's width over its heads: the length of a head that has none of its own."""
    d_model = _size(header, "embedding_length")
    return None if not heads or d_model is None or max(heads) == 0 else d_model // max(heads)


def _expert_share(header: Header) -> float:
    """The share of a mixture's experts that one token uses; 1 for a dense model."""
    experts, used = _size(header, "expert_count"), _size(header, "expert_used_count")
    return min(1.0, used / experts) if experts and used else 1.0


def _part(tensor: Tensor, expert_share: float) -> float:
    return expert_share if "_exps." in tensor.name else 1.0


def _vocabulary(header: Header) -> int | None:
    tokens = header.metadata.get("tokenizer.ggml.tokens")
    if isinstance(tokens, Items):
        return tokens.count
    return _size(header, "vocab_size")


def _mix(tensors: list[Tensor]) -> tuple[tuple[str, float], ...]:
    total = sum(tensor.items for tensor in tensors)
    items: dict[str, int] = {}
    for tensor in tensors:
        items[tensor.type] = items.get(tensor.type, 0) + tensor.items
    ordered = sorted(items.items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple((name, count / total) for name, count in ordered)
