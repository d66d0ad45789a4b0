"""The capture file: what is written is read, torn ends are dropped, and broken files give one sentence."""

import os
import stat
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paretoken.errors import CaptureError, DiskError
from paretoken.records.capture import (
    FRAME_LIMIT,
    KINDS,
    MAGIC,
    NO_REQUEST,
    READ,
    RUN,
    SINCE_THE_LAST,
    CaptureWriter,
    Frame,
    RunStamp,
    frame_bytes,
    is_capture,
    read_capture,
    run_stamp,
)

FRAMES = [Frame(1, 1, 10, b""), Frame(1, 4, 2**63, b"\x00data\xff" * 100, 250_000), Frame(NO_REQUEST, 7, 12, b"{}")]


def written(path: Path, frames: list[Frame]) -> Path:
    with CaptureWriter(path) as writer:
        for frame in frames:
            writer.append(frame.kind, frame.request_id, frame.t_ns, frame.data, frame.within_ns)
    return path


def test_the_layout_is_the_one_promised(tmp_path: Path) -> None:
    data = written(tmp_path / "c", FRAMES[:2]).read_bytes()
    assert data[:8] == MAGIC
    assert struct.unpack_from("<IBQII", data, 8) == (1, 1, 10, SINCE_THE_LAST, 0)
    assert struct.unpack_from("<IBQII", data, 29) == (1, 4, 2**63, 250_000, 600)
    assert data[50:] == FRAMES[1].data


def test_a_capture_of_the_first_version_is_read(tmp_path: Path) -> None:
    """It does not tell within which time a read's bytes came."""
    path = tmp_path / "old"
    path.write_bytes(b"PTKCAP\x00\x01" + struct.pack("<IBQI", 1, READ, 7, 3) + b"abc")
    assert is_capture(path)
    assert list(read_capture(path)) == [Frame(1, READ, 7, b"abc", SINCE_THE_LAST)]


@given(
    st.lists(
        st.builds(
            Frame,
            st.integers(0, 2**32 - 1),
            st.sampled_from(KINDS),
            st.integers(0, 2**64 - 1),
            st.binary(max_size=50),
        )
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_what_is_written_is_read(tmp_path: Path, frames: list[Frame]) -> None:
    path = tmp_path / "capture"
    path.unlink(missing_ok=True)
    assert list(read_capture(written(path, frames))) == frames
    path.write_bytes(zlib.compress(path.read_bytes()))
    assert list(read_capture(path)) == frames


def test_frames_larger_than_a_block_and_many_small_ones(tmp_path: Path) -> None:
    frames = [Frame(1, READ, 1, b"x" * 3_000_000), *[Frame(n, READ, n, b"y" * 100) for n in range(20_000)]]
    path = written(tmp_path / "capture", frames)
    assert list(read_capture(path)) == frames
    path.write_bytes(zlib.compress(path.read_bytes()))
    assert list(read_capture(path)) == frames


def test_frames_are_on_the_disk_after_a_flush_and_by_the_mebibyte(tmp_path: Path) -> None:
    path = tmp_path / "capture"
    writer = CaptureWriter(path)
    writer.append(READ, 1, 1, b"small")
    assert list(read_capture(path)) == []
    writer.flush()
    assert len(list(read_capture(path))) == 1
    writer.append(READ, 1, 2, b"x" * 2**20)
    assert len(list(read_capture(path))) == 2
    writer.close()
    writer.close()


def test_only_the_owner_may_read_it_and_nothing_is_overwritten(tmp_path: Path) -> None:
    path = written(tmp_path / "capture", FRAMES)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(CaptureError, match="cannot be written"):
        CaptureWriter(path)
    with pytest.raises(DiskError, match="cannot be written"):
        CaptureWriter(tmp_path / "nowhere" / "capture")


def test_a_torn_last_frame_is_dropped_wherever_it_is_torn(tmp_path: Path) -> None:
    path = written(tmp_path / "capture", FRAMES)
    whole = path.read_bytes()
    without_last = len(whole) - len(frame_bytes(FRAMES[-1]))
    for size in range(without_last, len(whole)):
        path.write_bytes(whole[:size])
        assert list(read_capture(path)) == FRAMES[:2]


HEADER = struct.Struct("<IBQII")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PTK",
        b"{}",
        b"PTKCAP\x00\x03" + HEADER.pack(1, 1, 1, 0, 0),
        MAGIC + HEADER.pack(1, 0, 1, 0, 0),
        MAGIC + HEADER.pack(1, 200, 1, 0, 0),
        MAGIC + HEADER.pack(1, READ, 1, 0, FRAME_LIMIT + 1),
        MAGIC + HEADER.pack(1, READ, 1, 0, 3) + b"abc" + b"\xff" * 21,
        b"\x78",
        b"\x78\x9cjunk",
        zlib.compress(b"not a capture"),
        zlib.compress(MAGIC + HEADER.pack(1, READ, 1, 0, 3) + b"abc")[:-3],
        zlib.compress(MAGIC)[:-1] + b"\x00",
    ],
)
def test_a_broken_capture_gives_one_sentence(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "capture"
    path.write_bytes(data)
    with pytest.raises(CaptureError) as refusal:
        list(read_capture(path))
    assert str(path) in str(refusal.value)
    assert "\n" not in str(refusal.value)


def _nothing(path: Path) -> None:
    pass


@pytest.mark.parametrize("make", [_nothing, Path.mkdir, os.mkfifo], ids=["missing", "directory", "pipe"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "capture"
    make(path)
    with pytest.raises(CaptureError):
        list(read_capture(path))
    with pytest.raises(CaptureError):
        is_capture(path)


def test_a_small_file_does_not_become_an_endless_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paretoken.records.capture.TOTAL_LIMIT", 10_000_000)
    path = tmp_path / "capture"
    path.write_bytes(zlib.compress(MAGIC + HEADER.pack(1, READ, 1, 0, 2**24) + bytes(2**24)))
    with pytest.raises(CaptureError, match="grows beyond"):
        list(read_capture(path))


@given(st.binary(max_size=200), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_after_the_magic_are_frames_or_a_sentence(tmp_path: Path, tail: bytes, compressed: bool) -> None:
    path = tmp_path / "capture"
    path.write_bytes(zlib.compress(MAGIC + tail) if compressed else MAGIC + tail)
    try:
        assert all(isinstance(frame, Frame) for frame in read_capture(path))
    except CaptureError:
        pass


def test_captures_are_told_from_other_files(tmp_path: Path) -> None:
    path = written(tmp_path / "capture", FRAMES)
    assert is_capture(path)
    path.write_bytes(zlib.compress(path.read_bytes(), 1))
    assert is_capture(path)
    path.write_text('{"input": {}}')
    assert not is_capture(path)


def said(*facts: bytes) -> RunStamp:
    return run_stamp([Frame(NO_REQUEST, RUN, 1, data) for data in facts])


def test_facts_about_the_run_later_ones_win() -> None:
    stamp = said(b'{"clock":"user","zero_ns":5,"gc":"off"}', b'{"clock":"kernel","ended_ns":9}')
    assert (stamp.clock, stamp.zero_ns, stamp.ended_ns, stamp.mono_zero_ns) == ("kernel", 5, 9, None)
    assert stamp.facts == {"clock": "kernel", "zero_ns": 5, "gc": "off", "ended_ns": 9}
    assert said() == RunStamp()


def test_a_step_of_the_real_clock_shows() -> None:
    spans = b'{"zero_ns":1000000000,"ended_ns":%d,"mono_zero_ns":500,"mono_ended_ns":2000000500}'
    assert said(spans % 3_000_000_000).clock_step_s == 0.0
    assert said(spans % 2_000_000_000).clock_step_s == -1.0
    assert said(b'{"zero_ns":1,"ended_ns":2}').clock_step_s is None


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"zero_ns":"now"}', b'{"zero_ns":1.5}', b'{"clock":"sundial"}'])
def test_broken_facts_give_one_sentence(data: bytes) -> None:
    with pytest.raises(CaptureError, match="facts about its run are broken"):
        said(data)
