"""Non-blocking TCP connections that say when the kernel received what they read.

In: an address. Out: bytes with a receive stamp, nanoseconds of CLOCK_REALTIME taken by the kernel as the packet came in
(SO_TIMESTAMPNS), or 0 where there is none: then the caller looks at its own clock. A stamp is that of the last byte of
a read. Knows nothing of HTTP. Errors are OSErrors; that nothing can be done yet is BlockingIOError.
"""

import contextlib
import errno
import os
import socket
import struct
import sys
import time
from collections.abc import Iterator
from typing import Any

from paretoken.units import NS_PER_S

READ_BYTES = 64 * 1024
_ANCILLARY_BYTES = 64
# Linux's number on every architecture Python ships wheels for; the socket module does not name it.
_SO_TIMESTAMPNS = 35
_STAMP = (socket.SOL_SOCKET, _SO_TIMESTAMPNS)
_TIMESPEC = struct.Struct("@ll")
KERNEL_STAMPS = sys.platform == "linux"
_STAMPS_BEGIN_S = 0.01
_PENDING = (0, errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EALREADY)

SocketAddress = tuple[Any, ...]


class Connection:
    """One TCP connection being opened, or open. `mask` belongs to the poller: what it watches for."""

    __slots__ = ("fd", "mask", "sock")

    def __init__(self, family: int, address: SocketAddress) -> None:
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.fd = self.sock.fileno()
        self.mask = 0
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

    def receive(self) -> tuple[bytes, int]:
        """What has come, with its stamp; no bytes at the end of the stream."""
        if not KERNEL_STAMPS:
            return self.sock.recv(READ_BYTES), 0
        data, ancillary, _, _ = self.sock.recvmsg(READ_BYTES, _ANCILLARY_BYTES)
        # No other ancillary data was asked for, so this is the stamp if it is there at all.
        if ancillary and ancillary[0][:2] == _STAMP:
            seconds, nanoseconds = _TIMESPEC.unpack(ancillary[0][2])
            return data, seconds * NS_PER_S + nanoseconds
        return data, 0

    def close(self) -> None:
        self.sock.close()


def ask_for_stamps(sock: socket.socket) -> None:
    """A kernel without them is met with our own clock: that the option is unknown is no error."""
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)


@contextlib.contextmanager
def kernel_stamps() -> Iterator[None]:
    """Keep the kernel stamping: it begins some milliseconds after the first socket asks, and stops after the last."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        if KERNEL_STAMPS:
            ask_for_stamps(asking)
            time.sleep(_STAMPS_BEGIN_S)
        yield
