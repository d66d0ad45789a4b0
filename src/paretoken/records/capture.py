"""The capture file: what was sent and received, in frames, appended while the run goes on.

An 8-byte magic with the version, then frames of little-endian (u32 request, u8 kind, u64 t_ns, u32 within_ns, u32
length) and that many bytes. Stamps are CLOCK_REALTIME, because the kernel's receive stamps are. `within_ns` belongs to
reads: their bytes came within that long before the stamp, 0 if all came at it. Version 1 had no such field. A torn last
frame is dropped: the writer was killed. A closed run's capture is the same bytes through zlib. What the bytes mean is
read.py's business.
"""

import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from paretoken.errors import CaptureError, writing
from paretoken.records.files import opened
from paretoken.units import NS_PER_S

MAGIC = b"PTKCAP\x00\x02"
_MAGIC_1 = b"PTKCAP\x00\x01"
RAW_NAME = "capture.bin"
COMPRESSED_NAME = "capture.bin.z"

STARTED = 1  # the first connect call, or the first byte on an open connection
CONNECTED = 2  # absent when the connection was reused
SENT = 3  # the first byte of the request was handed to the socket
READ = 4  # receive stamp and raw bytes of one read, HTTP framing included
END = 5  # how it ended, after a colon an optional reason: b"refused: no such host"
DUE = 6  # the loop fixed the moment when the request was due
RUN = 7  # JSON about the run; may come several times, later keys win
READ_LENGTH = 8  # a read whose bytes were not kept: their number as u32
LEFT = 9  # the kernel's transmit stamp of a request that fits one segment
KINDS = (STARTED, CONNECTED, SENT, READ, END, DUE, RUN, READ_LENGTH, LEFT)

NO_REQUEST = 0xFFFFFFFF  # the request id of a RUN frame
SINCE_THE_LAST = 0xFFFFFFFF  # as `within_ns`: at any moment since the read before

FRAME_LIMIT = 64 * 1024 * 1024  # no read is near this: a longer frame is a broken file
TOTAL_LIMIT = 4 * 1024**3  # of a decompressed capture: a small file must not become an endless one
_SPILL_BYTES = 1024 * 1024
_STEP_BYTES = 1024 * 1024
_ZLIB_START = b"\x78"
_HEADER = struct.Struct("<IBQII")
_HEADER_1 = struct.Struct("<IBQI")


@dataclass(frozen=True, slots=True)
class Frame:
    request_id: int
    kind: int
    t_ns: int
    data: bytes
    within_ns: int = SINCE_THE_LAST


def frame_bytes(frame: Frame) -> bytes:
    return _HEADER.pack(frame.request_id, frame.kind, frame.t_ns, frame.within_ns, len(frame.data)) + frame.data


class CaptureWriter:
    """Appends frames to a new or an empty file. Buffered: they reach the disk by the mebibyte, on `flush` and on
    `close`. Raises DiskError, and CaptureError where there is a capture already."""

    def __init__(self, path: Path) -> None:
        with writing(path):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._path = path
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        if os.fstat(descriptor).st_size:
            self._file.close()
            raise CaptureError(f"the capture {path} cannot be written: there is one already; give it another folder")
        self._parts = [MAGIC]
        self._pending = len(MAGIC)
        self.flush()

    def append(self, kind: int, request_id: int, t_ns: int, data: bytes = b"", within_ns: int = SINCE_THE_LAST) -> None:
        self._parts += (_HEADER.pack(request_id, kind, t_ns, within_ns, len(data)), data)
        self._pending += _HEADER.size + len(data)
        if self._pending >= _SPILL_BYTES:
            self.flush()

    def append_run(self, t_ns: int, **facts: Any) -> None:
        """A RUN frame. RunStamp names the facts that are read again; any others are kept beside them."""
        self.append(RUN, NO_REQUEST, t_ns, msgspec.json.encode(facts))

    def flush(self) -> None:
        pending = memoryview(b"".join(self._parts))
        self._parts.clear()
        self._pending = 0
        with writing(self._path):
            while pending:
                pending = pending[self._file.write(pending) :]

    def close(self) -> None:
        if not self._file.closed:
            try:
                self.flush()
            finally:
                self._file.close()

    def __enter__(self) -> "CaptureWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_capture(path: Path) -> bool:
    """Whether the file begins as a capture does. Raises CaptureError where it cannot be read."""
    with opened(path) as file:
        start = file.read(len(MAGIC))
    return start in (MAGIC, _MAGIC_1) or start.startswith(_ZLIB_START)


def read_capture(path: Path) -> Iterator[Frame]:
    """The frames of a capture, raw or compressed, one at a time. Raises CaptureError where it is none, or broken."""
    with opened(path) as file:
        file.seek(0)  # where /dev/fd gives out the same opened file again, it stands where others left it
        compressed = file.read(1) == _ZLIB_START
        file.seek(0)
        blocks = iter(lambda: file.read(_STEP_BYTES), b"")
        source = _Source(_inflated(path, blocks) if compressed else blocks)
        magic = source.take(len(MAGIC))
        if magic not in (MAGIC, _MAGIC_1):
            raise CaptureError(f"{path} is not a capture of this version")
        header_of = _HEADER if magic == MAGIC else _HEADER_1
        while (header := source.take(header_of.size)) is not None:
            request_id, kind, t_ns, *within, length = header_of.unpack(header)
            if kind not in KINDS or length > FRAME_LIMIT:
                raise CaptureError(f"the capture {path} is broken before byte {source.taken}; its run must be repeated")
            data = source.take(length)
            if data is None:
                return  # torn: the writer was killed
            yield Frame(request_id, kind, t_ns, data, *within)


@dataclass(frozen=True, slots=True)
class RunStamp:
    """What the RUN frames say. `*_zero_ns` and `*_ended_ns` are the same two moments on the real and the monotonic
    clock: if the spans differ, the real clock was stepped, and stamps lie."""

    clock: Literal["kernel", "user"] = "user"  # where receive stamps come from
    zero_ns: int | None = None  # the run's 0 on CLOCK_REALTIME
    ended_ns: int | None = None
    mono_zero_ns: int | None = None
    mono_ended_ns: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)  # everything that was said, the above included

    @property
    def clock_step_s(self) -> float | None:
        """How far the real clock moved against the monotonic one during the run; None when that is not known."""
        if self.zero_ns is None or self.ended_ns is None or self.mono_zero_ns is None or self.mono_ended_ns is None:
            return None
        return ((self.ended_ns - self.zero_ns) - (self.mono_ended_ns - self.mono_zero_ns)) / NS_PER_S


def run_stamp(frames: Iterable[Frame]) -> RunStamp:
    """The RUN frames' facts, later ones over earlier ones. Other frames are passed over. Raises CaptureError."""
    facts: dict[str, Any] = {}
    for frame in frames:
        if frame.kind == RUN:
            try:
                facts |= msgspec.json.decode(frame.data, type=dict[str, Any])
            except (msgspec.MsgspecError, RecursionError) as error:
                raise CaptureError(f"the capture's facts about its run are broken: {error}") from error
    try:
        return msgspec.convert({**facts, "facts": facts}, RunStamp)
    except msgspec.ValidationError as error:
        raise CaptureError(f"the capture's facts about its run are broken: {error}") from error


class _Source:
    """Bytes out of blocks, by number."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self.taken = 0
        self._blocks = blocks
        self._block = b""
        self._position = 0

    def take(self, length: int) -> bytes | None:
        """Exactly `length` bytes, or None when so many are not left."""
        while len(self._block) - self._position < length:
            parts = [self._block[self._position :]]
            missing = length - len(parts[0])
            while missing > 0:
                block = next(self._blocks, None)
                if block is None:
                    return None
                parts.append(block)
                missing -= len(block)
            self._block = b"".join(parts)
            self._position = 0
        data = self._block[self._position : self._position + length]
        self._position += length
        self.taken += length
        return data


def _inflated(path: Path, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Through zlib, a step at a time: memory does not depend on what the file claims."""
    inflater = zlib.decompressobj()
    total = 0
    try:
        for block in blocks:
            pending = block
            while not inflater.eof:
                data = inflater.decompress(pending, _STEP_BYTES)
                pending = inflater.unconsumed_tail
                if not data and not pending:
                    break
                total += len(data)
                if total > TOTAL_LIMIT:
                    raise CaptureError(f"the capture {path} grows beyond {TOTAL_LIMIT} bytes; it is not ours")
                yield data
    except zlib.error as error:
        raise CaptureError(f"the capture {path} is broken: {error}") from error
    if not inflater.eof:
        raise CaptureError(f"the capture {path} is cut short")
