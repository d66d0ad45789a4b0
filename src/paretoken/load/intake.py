"""The hot loop: ordinary reads, one after another, with nothing called that need not be.

In: what the poller found ready. Out: frames, and those descriptors that want more than this. A read is ordinary when
its connection stands and is plain TCP, and it holds exactly one chunk of a chunked body, with one event in it, stamped
by the kernel. Nearly all of a streamed answer comes so. Everything else goes the long way through Exchange, which
decides what is ordinary again.
"""

from collections.abc import Mapping

from paretoken.load.exchange import Exchange, Sink
from paretoken.load.poller import READ, Ready
from paretoken.load.sockets import READ_BYTES
from paretoken.load.stamps import ANCILLARY_BYTES, timespec
from paretoken.load.turn import Turn
from paretoken.records.capture import READ as READ_FRAME
from paretoken.records.capture import SINCE_THE_LAST
from paretoken.units import NS_PER_S
from paretoken.wire.framing import LINE_LIMIT, chunk_ends


def take(ready: Ready, active: Mapping[int, Exchange], turn: Turn, sink: Sink) -> tuple[list[tuple[int, int]], int]:
    """→ (what is left to do, the stamp of the last read or 0). Mask 0 marks an exchange that only has to be looked at:
    it was read, and may have ended."""
    left: list[tuple[int, int]] = []
    t_ns = first_ns = 0
    since_ns, append = turn.since_ns, sink.append
    for fd, mask in ready:
        exchange = active.get(fd)
        if exchange is None or not exchange.ordinary or mask != READ:
            left.append((fd, mask))
            continue
        connection = exchange.connection
        try:
            data, ancillary, _, _ = connection.recvmsg(READ_BYTES, ANCILLARY_BYTES)
        except OSError as error:
            exchange.failed(error)
            left.append((fd, 0))
            continue
        size = len(data)
        line_end = data.find(b"\r\n", 1, LINE_LIMIT)
        if chunk_ends.get(data[:line_end]) == size < READ_BYTES and data.count(b"\n\n") < 2 and ancillary:
            seconds, nanoseconds = timespec(ancillary[0][2])
            t_ns = seconds * NS_PER_S + nanoseconds
            if not first_ns:
                first_ns = t_ns
            within_ns = t_ns - since_ns
            append(READ_FRAME, exchange.id, t_ns, data, within_ns if 0 < within_ns < SINCE_THE_LAST else SINCE_THE_LAST)
            connection.reads += 1
            connection.read_bytes += size
        else:
            t_ns = exchange.took(data, ancillary)
            left.append((fd, 0))
    if first_ns:
        turn.woken_by(first_ns)
    return left, t_ns
