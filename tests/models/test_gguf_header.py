import os
import struct
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paretoken.errors import ModelError
from paretoken.models.dimensions import dimensions
from paretoken.models.gguf_header import Header, Items, read_header

from .gguf_builder import Entry, Gguf, array_claim, i32s, small_llama, string, strings, text, u32

ARCH = ("general.architecture", text("llama"))
ONE = Entry("a.weight", (32, 2), 0, bytes(256))
TINY = small_llama(layers=1, vocabulary=12).build()
TINY_HEAD = len(small_llama(layers=1, vocabulary=12).head())


def read(tmp_path: Path, data: bytes) -> Header:
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    return read_header(path)


@pytest.mark.parametrize("version", [2, 3])
def test_reads_what_the_file_says(tmp_path: Path, version: int) -> None:
    built = small_llama(vocabulary=600)
    built.version = version
    header = read(tmp_path, built.build())
    assert header.version == version
    assert header.architecture == "llama"
    assert header.metadata["general.name"] == "tiny"
    assert header.metadata["llama.block_count"] == 2
    assert header.metadata["tokenizer.ggml.add_bos_token"] is True
    assert header.metadata["acme.unknown"] == Items(4, ("kept", "as", "it", "is"))
    assert [t.name for t in header.tensors] == [t.name for t in built.tensors]
    embedding = header.tensors[0]
    assert (embedding.shape, embedding.type, embedding.bytes) == ((64, 600), "F32", 64 * 600 * 4)
    assert (embedding.width, embedding.rows, embedding.items) == (64, 600, 38_400)


def test_tensor_offsets_point_at_the_tensors_bytes(tmp_path: Path) -> None:
    built = small_llama()
    data = built.build()
    for tensor, entry in zip(read(tmp_path, data).tensors, built.tensors, strict=True):
        assert data[tensor.offset : tensor.offset + tensor.bytes] == entry.data


def test_large_arrays_keep_their_length_and_first_items_only(tmp_path: Path) -> None:
    tokens = read(tmp_path, small_llama(vocabulary=600).build()).metadata["tokenizer.ggml.tokens"]
    assert isinstance(tokens, Items)
    assert (tokens.count, tokens.whole) == (600, False)
    assert tokens.first == tuple(f"word{index}" for index in range(8))


def test_spans_hold_each_entry_exactly(tmp_path: Path) -> None:
    built = small_llama()
    data = built.build()
    spans = read(tmp_path, data).spans
    assert [data[start:end] for start, end in spans.values()] == [string(key) + value for key, value in built.keys]


def test_another_alignment(tmp_path: Path) -> None:
    built = Gguf([ARCH, ("general.alignment", u32(64))], [ONE, replace(ONE, name="b.weight")], alignment=64)
    header = read(tmp_path, built.build())
    assert header.alignment == 64
    assert all(tensor.offset % 64 == 0 for tensor in header.tensors)


def test_a_header_is_frozen(tmp_path: Path) -> None:
    header = read(tmp_path, TINY)
    with pytest.raises(TypeError):
        header.metadata["x"] = 1  # type: ignore[index]


BROKEN = {
    "not GGUF": (replace(Gguf([ARCH], [ONE]), magic=b"PK\3\4"), "does not start with 'GGUF'"),
    "version 1": (Gguf([ARCH], [ONE], version=1), "version 1"),
    "big-endian": (Gguf([ARCH], [ONE], version=3 << 24), "big-endian"),
    "no tensor": (Gguf([ARCH], []), "0 tensors"),
    "tensors without end": (Gguf([ARCH], [ONE], tensor_count=2**63), "claims 9223372036854775808 tensors"),
    "tensors that are not there": (Gguf([ARCH], [ONE], tensor_count=60_000), "dimensions"),
    "keys without end": (Gguf([ARCH], [ONE], key_count=2**64 - 1), "keys"),
    "a huge string": (Gguf([ARCH, ("k", struct.pack("<IQ", 8, 2**63))], [ONE]), "claims"),
    "a string beyond the file": (Gguf([ARCH, ("k", struct.pack("<IQ", 8, 2**19))], [ONE]), "the file's end"),
    "a huge array": (Gguf([ARCH, ("k", array_claim(5, 2**62))], [ONE]), "the file's end"),
    "a huge array of strings": (Gguf([ARCH, ("k", array_claim(8, 2**62))], [ONE]), "strings"),
    "a huge token": (Gguf([ARCH, ("k", array_claim(8, 1) + struct.pack("<Q", 2**60))], [ONE]), "claims"),
    "an array of arrays": (Gguf([ARCH, ("k", array_claim(9, 1) + array_claim(9, 1))], [ONE]), "array of arrays"),
    "an array of nothing known": (Gguf([ARCH, ("k", array_claim(77, 1))], [ONE]), "unknown type 77"),
    "an unknown value type": (Gguf([ARCH, ("k", struct.pack("<II", 13, 0))], [ONE]), "unknown type 13"),
    "a key twice": (Gguf([ARCH, ARCH], [ONE]), "twice"),
    "a key that is not UTF-8": (Gguf([ARCH, (b"\xff\xfe", u32(1))], [ONE]), "UTF-8"),
    "a long key": (Gguf([ARCH, ("k" * 70_000, u32(1))], [ONE]), "claims 70000 bytes"),
    "no architecture": (Gguf([("general.name", text("x"))], [ONE]), "general.architecture"),
    "architecture as a number": (Gguf([("general.architecture", u32(1))], [ONE]), "general.architecture"),
    "alignment 0": (Gguf([ARCH, ("general.alignment", u32(0))], [ONE]), "alignment"),
    "alignment 48": (Gguf([ARCH, ("general.alignment", u32(48))], [ONE]), "alignment"),
    "alignment 2^31": (Gguf([ARCH, ("general.alignment", u32(2**31))], [ONE]), "alignment"),
    "alignment as text": (Gguf([ARCH, ("general.alignment", text("32"))], [ONE]), "alignment"),
    "a tensor twice": (Gguf([ARCH], [ONE, ONE]), "twice"),
    "no dimension": (Gguf([ARCH], [replace(ONE, shape=())]), "0 dimensions"),
    "nine dimensions": (Gguf([ARCH], [replace(ONE, shape=(1,) * 9)]), "9 dimensions"),
    "an empty side": (Gguf([ARCH], [replace(ONE, shape=(32, 0))]), "does not fit"),
    "a huge shape": (Gguf([ARCH], [replace(ONE, shape=(2**63, 2**63, 2**63))]), "outside the file"),
    "an unknown number type": (Gguf([ARCH], [replace(ONE, kind=999)]), "unknown type 999"),
    "a width that blocks do not fit": (
        Gguf([ARCH], [replace(ONE, shape=(48, 2), kind=2)]),
        "does not fit the type Q4_0",
    ),
    "a tensor beyond the file": (Gguf([ARCH], [replace(ONE, offset=2**40)]), "outside the file"),
    "an offset that wraps": (Gguf([ARCH], [replace(ONE, offset=2**64 - 32)]), "outside the file"),
    "an unaligned tensor": (Gguf([ARCH], [replace(ONE, offset=4, data=bytes(512))]), "outside the file"),
    "tensors on top of each other": (Gguf([ARCH], [ONE, replace(ONE, name="b.weight", offset=128)]), "overlap"),
}


@pytest.mark.parametrize("which", BROKEN)
def test_a_broken_file_is_one_sentence(tmp_path: Path, which: str) -> None:
    built, reason = BROKEN[which]
    with pytest.raises(ModelError) as caught:
        read(tmp_path, built.build())
    message = str(caught.value)
    assert reason in message
    assert "m.gguf" in message
    assert "\n" not in message
    assert len(message) < 400


def test_a_hostile_name_stays_harmless_in_the_sentence(tmp_path: Path) -> None:
    hostile = "\x1b[2J" + "x" * 200
    with pytest.raises(ModelError) as caught:
        read(tmp_path, Gguf([ARCH], [replace(ONE, name=hostile, kind=999)]).build())
    assert "\x1b" not in str(caught.value)
    assert "x" * 100 not in str(caught.value)


@pytest.mark.parametrize("length", [*range(0, TINY_HEAD, 13), TINY_HEAD, len(TINY) - 32, len(TINY) - 1])
def test_a_truncated_file_is_refused(tmp_path: Path, length: int) -> None:
    with pytest.raises(ModelError):
        read(tmp_path, TINY[:length])


def test_what_is_not_a_regular_file_is_refused_without_reading(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo.gguf"
    os.mkfifo(fifo)
    for path in (fifo, tmp_path, Path("/dev/zero")):
        with pytest.raises(ModelError, match="not a regular file"):
            read_header(path)
    with pytest.raises(ModelError, match="No such file"):
        read_header(tmp_path / "absent.gguf")


# Behind each head the file is zeros without end: empty strings, empty keys, keys of type 0.
SPARSE: dict[str, list[tuple[str | bytes, bytes]]] = {
    "string": [ARCH, ("k", struct.pack("<IQ", 8, 2**39))],
    "numbers": [ARCH, ("k", array_claim(0, 2**39))],
    "strings": [ARCH, ("k", array_claim(8, 2**36))],
    "empty strings": [ARCH, ("k", array_claim(8, 200_000))],
    "bytes up to the cap": [ARCH, ("k", array_claim(0, 60 * 2**20))],
    "nothing": [ARCH],
}


@pytest.mark.parametrize("which", SPARSE)
def test_lengths_that_a_sparse_file_makes_plausible_do_not_fill_memory(tmp_path: Path, which: str) -> None:
    """The file claims a tebibyte and costs no disk: only the caps can refuse."""
    path = tmp_path / "m.gguf"
    path.write_bytes(Gguf(SPARSE[which], tensor_count=65_536, key_count=4096).head())
    os.truncate(path, 2**40)
    tracemalloc.start()
    try:
        with pytest.raises(ModelError):
            read_header(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 140 * 2**20  # twice the cap: the buffer grows by copying


def test_the_cap_on_strings_counts_all_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It bounds the time that a header of millions of empty strings would cost."""
    built = Gguf([ARCH, ("k", strings(["a"] * 6)), ("l", strings(["b"] * 5))], [ONE])
    monkeypatch.setattr("paretoken.models.gguf_header.ARRAY_STRINGS", 11)
    read(tmp_path, built.build())
    monkeypatch.setattr("paretoken.models.gguf_header.ARRAY_STRINGS", 10)
    with pytest.raises(ModelError, match="the value of 'l' claims 5 strings"):
        read(tmp_path, built.build())


def header_or_error(path: Path, data: bytes) -> None:
    """The promise: a Header (whose sizes can be asked) or a ModelError, in memory bounded by the file's size."""
    path.write_bytes(data)
    tracemalloc.start()
    try:
        header = read_header(path)
        dimensions(header).kv_bytes_per_token()
        assert all(tensor.offset + tensor.bytes <= len(data) for tensor in header.tensors)
    except ModelError as error:
        assert "\n" not in str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 4 * 2**20


# One file a test run: a folder of its own for every example would only cost time.
fuzz = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
extreme = st.sampled_from([0, 1, 2, 31, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1])


@fuzz
@given(cut=st.integers(0, len(TINY)))
def test_fuzz_truncation(tmp_path: Path, cut: int) -> None:
    header_or_error(tmp_path / "m.gguf", TINY[:cut])


@fuzz
@given(changes=st.lists(st.tuples(st.integers(0, TINY_HEAD - 1), st.integers(0, 255)), min_size=1, max_size=12))
def test_fuzz_bytes(tmp_path: Path, changes: list[tuple[int, int]]) -> None:
    data = bytearray(TINY)
    for at, value in changes:
        data[at] = value
    header_or_error(tmp_path / "m.gguf", bytes(data))


@fuzz
@given(at=st.integers(0, TINY_HEAD - 8), value=extreme | st.integers(0, 2**64 - 1))
def test_fuzz_lengths(tmp_path: Path, at: int, value: int) -> None:
    header_or_error(tmp_path / "m.gguf", TINY[:at] + struct.pack("<Q", value) + TINY[at + 8 :])


@fuzz
@given(start=st.integers(4, TINY_HEAD), removed=st.integers(0, 40), inserted=st.binary(max_size=40))
def test_fuzz_splices(tmp_path: Path, start: int, removed: int, inserted: bytes) -> None:
    header_or_error(tmp_path / "m.gguf", TINY[:start] + inserted + TINY[start + removed :])


@fuzz
@given(data=st.binary(max_size=400))
def test_fuzz_noise_behind_a_good_start(tmp_path: Path, data: bytes) -> None:
    header_or_error(tmp_path / "m.gguf", b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + data)


@fuzz
@given(
    values=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=6), key=st.sampled_from(["block_count", "head_count"])
)
def test_fuzz_sizes_that_cannot_be(tmp_path: Path, values: list[int], key: str) -> None:
    name = {"block_count": "llama.block_count", "head_count": "llama.attention.head_count"}[key]
    built = small_llama(layers=1, vocabulary=12)
    built.keys = [(k, i32s(values) if k == name else v) for k, v in built.keys]
    header_or_error(tmp_path / "m.gguf", built.build())


def test_a_small_list_of_strings_is_whole(tmp_path: Path) -> None:
    header = read(tmp_path, Gguf([ARCH, ("k", strings(["a", "b"]))], [ONE]).build())
    assert header.metadata["k"] == Items(2, ("a", "b"))
