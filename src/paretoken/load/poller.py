"""A selector that wakes at the microsecond.

The selectors module rounds a timeout up to whole milliseconds, which would make every send up to a millisecond late. So
it is given whole milliseconds that end too early, then `select` on the epoll descriptor itself waits for what is left
in microseconds, and the last 200 µs before something is due are polled. Nothing is ever polled for longer.
"""

import select
import selectors
import sys
from collections.abc import Iterator

READ = selectors.EVENT_READ
WRITE = selectors.EVENT_WRITE

_MS_NS = 1_000_000
_POLLED_NS = 200_000
_SELECT_LIMIT = 1024  # select() cannot watch a descriptor from here on


class Poller:
    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._inner = _descriptor(self._selector)

    def watch(self, fd: int, mask: int) -> None:
        self._selector.register(fd, mask)

    def change(self, fd: int, mask: int) -> None:
        self._selector.modify(fd, mask)

    def forget(self, fd: int) -> None:
        self._selector.unregister(fd)

    def wait(self, left_ns: int, *, exactly: bool) -> Iterator[tuple[int, int]]:
        """Descriptors with what they are ready for. Returns when there are some, and else within `left_ns`, often
        before; `exactly` says that something is due then, to the microsecond."""
        if not exactly:
            timeout_s = max(0, left_ns) / 1e9
        elif left_ns > 2 * _MS_NS:
            timeout_s = (left_ns - _MS_NS) / 1e9
        else:
            timeout_s = 0.0
            if left_ns > _POLLED_NS:
                if self._inner is not None:
                    select.select([self._inner], [], [], (left_ns - _POLLED_NS) / 1e9)
                else:
                    timeout_s = (left_ns - _POLLED_NS) / 1e9
        return ((key.fd, mask) for key, mask in self._selector.select(timeout_s))

    def close(self) -> None:
        self._selector.close()


def _descriptor(selector: selectors.BaseSelector) -> int | None:
    """The epoll descriptor, which is readable when anything it watches is ready; None where there is none to use.
    Other selectors (kqueue) do not round."""
    if sys.platform == "linux" and isinstance(selector, selectors.EpollSelector):
        fd = selector.fileno()
        return fd if fd < _SELECT_LIMIT else None
    return None
