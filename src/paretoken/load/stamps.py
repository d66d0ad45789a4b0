"""The kernel's own stamps of what a socket receives and sends: Linux's SO_TIMESTAMPING.

In: a socket. Out: nanoseconds of CLOCK_REALTIME, taken as a packet came in, or as it was handed to the network device;
0 where the kernel gives none: then the caller looks at its own clock. A receive stamp is that of the last byte of a
read. Transmit stamps come back on the socket's error queue. It also tells whether reads were one segment each, so that
one stamp holds for all their bytes. Flags and layouts: Linux's net_tstamp.h and tcp.h.
"""

import contextlib
import socket
import struct
import sys
import time
from collections.abc import Iterator
from typing import Any

from paretoken.units import NS_PER_S

KERNEL_STAMPS = sys.platform == "linux"
ANCILLARY_BYTES = 128  # of one stamp (three timespecs), and beside it, on the error queue, what it belongs to

# Linux's number on every architecture Python ships wheels for; the socket module does not name it.
_SO_TIMESTAMPING = 37
_TX_SOFTWARE, _RX_SOFTWARE, _REPORT_SOFTWARE, _TX_WITHOUT_DATA = 1 << 1, 1 << 3, 1 << 4, 1 << 11
_FLAGS = _TX_SOFTWARE | _RX_SOFTWARE | _REPORT_SOFTWARE | _TX_WITHOUT_DATA
timespec = struct.Struct("@ll").unpack_from
_BEGIN_S = 0.01

_INFO_BYTES = 160  # of struct tcp_info
_RECEIVED_AT, _SEGMENTS_AT = 128, 152  # tcpi_bytes_received, tcpi_data_segs_in
_RECEIVED, _SEGMENTS = struct.Struct("=Q"), struct.Struct("=I")


def ask_for_stamps(sock: socket.socket) -> None:
    """A kernel without them is met with our own clock: that the option is unknown is no error."""
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, _FLAGS)


def stamp_of(ancillary: list[Any]) -> int:
    """The stamp that a message's ancillary data begins with; 0 without one. Nothing else was asked for."""
    _, kind, data = ancillary[0]
    if kind != _SO_TIMESTAMPING:
        return 0
    seconds, nanoseconds = timespec(data)
    return int(seconds * NS_PER_S + nanoseconds)


def transmitted_ns(sock: socket.socket) -> int:
    """When the oldest send that was not asked for yet left; 0 if none is known. Empties the error queue, which would
    wake the poller again and again."""
    first_ns = 0
    while True:
        try:
            _, ancillary, _, _ = sock.recvmsg(0, ANCILLARY_BYTES, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)
        except OSError:  # nothing more; what is broken shows at the next read
            return first_ns
        first_ns = first_ns or (stamp_of(ancillary) if ancillary else 0)


def received(sock: socket.socket) -> tuple[int, int] | None:
    """Bytes and data segments that the connection has received so far; None where the kernel does not count."""
    try:
        counts = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
        return _RECEIVED.unpack_from(counts, _RECEIVED_AT)[0], _SEGMENTS.unpack_from(counts, _SEGMENTS_AT)[0]
    except (OSError, AttributeError, struct.error):  # no TCP, another system, an older kernel
        return None


@contextlib.contextmanager
def kernel_stamps() -> Iterator[None]:
    """Keep the kernel stamping: it begins some milliseconds after the first socket asks, and stops after the last."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        if KERNEL_STAMPS:
            ask_for_stamps(asking)
            time.sleep(_BEGIN_S)
        yield
