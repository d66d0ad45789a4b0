"""The number types and value types of the GGUF format, as tables.

Source: the GGUF specification in ggml-org/ggml (docs/gguf.md) and ggml's block layouts. A type that is not here is
refused by the reader, because without its block size no length can be checked.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NumberType:
    """A tensor's number type: `block_items` neighbouring numbers of a row share `block_bytes` bytes."""

    name: str
    block_items: int
    block_bytes: int

    @property
    def quantised(self) -> bool:
        return self.block_items > 1

    def row_bytes(self, width: int) -> int:
        """Bytes of one row. `width` must be a multiple of `block_items`."""
        return width // self.block_items * self.block_bytes


NUMBER_TYPES = {
    0: NumberType("F32", 1, 4),
    1: NumberType("F16", 1, 2),
    2: NumberType("Q4_0", 32, 18),
    3: NumberType("Q4_1", 32, 20),
    6: NumberType("Q5_0", 32, 22),
    7: NumberType("Q5_1", 32, 24),
    8: NumberType("Q8_0", 32, 34),
    9: NumberType("Q8_1", 32, 40),
    10: NumberType("Q2_K", 256, 84),
    11: NumberType("Q3_K", 256, 110),
    12: NumberType("Q4_K", 256, 144),
    13: NumberType("Q5_K", 256, 176),
    14: NumberType("Q6_K", 256, 210),
    15: NumberType("Q8_K", 256, 292),
    16: NumberType("IQ2_XXS", 256, 66),
    17: NumberType("IQ2_XS", 256, 74),
    18: NumberType("IQ3_XXS", 256, 98),
    19: NumberType("IQ1_S", 256, 50),
    20: NumberType("IQ4_NL", 32, 18),
    21: NumberType("IQ3_S", 256, 110),
    22: NumberType("IQ2_S", 256, 82),
    23: NumberType("IQ4_XS", 256, 136),
    24: NumberType("I8", 1, 1),
    25: NumberType("I16", 1, 2),
    26: NumberType("I32", 1, 4),
    27: NumberType("I64", 1, 8),
    28: NumberType("F64", 1, 8),
    29: NumberType("IQ1_M", 256, 56),
    30: NumberType("BF16", 1, 2),
    34: NumberType("TQ1_0", 256, 54),
    35: NumberType("TQ2_0", 256, 66),
    39: NumberType("MXFP4", 32, 17),
    40: NumberType("NVFP4", 64, 36),
}
NUMBER_TYPE_IDS = {kind.name: number for number, kind in NUMBER_TYPES.items()}
BY_NAME = {kind.name: kind for kind in NUMBER_TYPES.values()}

# `general.file_type` of a file whose matrices are mostly of this type.
FILE_TYPES = {
    "F32": 0,
    "F16": 1,
    "Q4_0": 2,
    "Q4_1": 3,
    "Q8_0": 7,
    "Q5_0": 8,
    "Q5_1": 9,
    "Q2_K": 10,
    "Q3_K": 12,
    "Q4_K": 15,
    "Q5_K": 17,
    "Q6_K": 18,
    "IQ4_NL": 25,
    "IQ4_XS": 30,
    "BF16": 32,
    "MXFP4": 38,
}

# Value types of the metadata: id → struct format. STRING and ARRAY have lengths of their own.
SCALARS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
UINT32, STRING, ARRAY = 4, 8, 9
