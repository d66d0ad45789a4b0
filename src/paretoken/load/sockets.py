"""Non-blocking TCP connections that say when the kernel received what they read.

In: an address. Out: bytes with a receive stamp (stamps.py), and when what was sent left. Knows nothing of HTTP. Errors
are OSErrors; that nothing can be done yet is BlockingIOError.
"""

import errno
import os
import socket
from typing import Any

from paretoken.load.stamps import ANCILLARY_BYTES, KERNEL_STAMPS, ask_for_stamps, received, transmitted_ns

READ_BYTES = 64 * 1024
_PENDING = (0, errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EALREADY)

SocketAddress = tuple[Any, ...]


class Connection:
    """One TCP connection being opened, or open. `mask` belongs to the poller: what it watches for. `drained` tells
    whether the last read took all there was."""

    __slots__ = ("_proven_reads", "_proven_segments", "drained", "fd", "mask", "read_bytes", "reads", "recvmsg", "sock")

    plain = KERNEL_STAMPS  # what is received is the stream itself, and stamped

    def __init__(self, family: int, address: SocketAddress) -> None:
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.fd = self.sock.fileno()
        self.recvmsg = self.sock.recvmsg if KERNEL_STAMPS else self._recv
        self.mask = 0
        self.drained = True
        self.reads = self.read_bytes = 0
        self._proven_reads = self._proven_segments = 0  # as counted when they were last compared
        try:
            self.sock.setblocking(False)
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if KERNEL_STAMPS:
                ask_for_stamps(self.sock)
            code = self.sock.connect_ex(address)
            if code not in _PENDING:
                raise OSError(code, os.strerror(code))
        except OSError:
            self.sock.close()
            raise

    def ready(self) -> bool:
        """Whether the connection stands. Raises OSError when it was refused."""
        code = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))
        try:
            self.sock.getpeername()
        except OSError as error:
            if error.errno == errno.ENOTCONN:
                return False
            raise
        return True

    def wants_write(self) -> bool:
        """While it is not ready: whether it waits to write, rather than to read."""
        return True

    def send(self, data: memoryview) -> int:
        """How many bytes were taken; what is left can't be taken yet."""
        try:
            return self.sock.send(data)
        except BlockingIOError:
            return 0

    def flushed(self) -> bool:
        """Whether all that `send` took was handed to the kernel."""
        return True

    def is_quiet(self) -> bool:
        """Whether there is nothing to read. On a connection that nobody uses anything else means that it was closed,
        or that bytes came which nobody asked for."""
        try:
            self.sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def receive(self) -> tuple[bytes, list[Any]]:
        """What has come, with its ancillary data; no bytes at the end of the stream."""
        data, ancillary, _, _ = self.recvmsg(READ_BYTES, ANCILLARY_BYTES)
        return data, ancillary

    def count(self, data: bytes) -> None:
        """`data` was received, and is dealt with."""
        size = len(data)
        self.reads += 1
        self.read_bytes += size
        self.drained = size < READ_BYTES

    def _recv(self, size: int, _: int) -> tuple[bytes, list[Any], int, Any]:
        return self.sock.recv(size), [], 0, None

    @property
    def _raw_reads(self) -> int:
        return self.reads

    @property
    def _raw_bytes(self) -> int:
        return self.read_bytes

    def came_at_once(self) -> bool:
        """Whether the kernel received the last read as one segment, so that its stamp holds for all of its bytes: the
        segments since the last such question are no more than the reads."""
        counts = received(self.sock)
        if counts is None or counts[0] != self._raw_bytes:  # more has come since: nothing can be said of that read
            return False
        segments, reads = counts[1] - self._proven_segments, self._raw_reads - self._proven_reads
        self._proven_segments, self._proven_reads = counts[1], self._raw_reads
        return segments <= reads

    def transmitted_ns(self) -> int:
        """The kernel's stamp of the last send, 0 if there is none (yet)."""
        return transmitted_ns(self.sock) if KERNEL_STAMPS else 0

    def segment_bytes(self) -> int:
        """The most that leaves in one segment; a transmit stamp of more is that of its last byte. 0: not known."""
        try:
            return self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
        except OSError:  # no TCP
            return 0

    def close(self) -> None:
        self.sock.close()
