"""A selector that wakes at the microsecond.

epoll rounds a timeout up to whole milliseconds, which would make every send up to a millisecond late. So it is given
whole milliseconds that end too early, then `select` on the epoll descriptor itself waits for what is left in
microseconds, and the last 200 µs before something is due are polled. Nothing is ever polled for longer. Where there is
no epoll the selectors module's best serves, which does not round (kqueue).
"""

import select
import selectors
from collections.abc import Sequence

_EPOLL = hasattr(select, "epoll")
READ = select.EPOLLIN if _EPOLL else selectors.EVENT_READ
WRITE = select.EPOLLOUT if _EPOLL else selectors.EVENT_WRITE

_MS_NS = 1_000_000
_POLLED_NS = 200_000
_SELECT_LIMIT = 1024  # select() cannot watch a descriptor from here on

Ready = Sequence[tuple[int, int]]


class Poller:
    """Masks are of READ and WRITE; what is reported may hold more: an error or an end is anything but WRITE."""

    def __init__(self) -> None:
        self._queue = select.epoll() if _EPOLL else _Selector()
        self._inner = self._queue.fileno() if _EPOLL and self._queue.fileno() < _SELECT_LIMIT else None
        self._watched = 0

    def watch(self, fd: int, mask: int) -> None:
        self._queue.register(fd, mask)
        self._watched += 1

    def change(self, fd: int, mask: int) -> None:
        self._queue.modify(fd, mask)

    def forget(self, fd: int) -> None:
        self._queue.unregister(fd)
        self._watched -= 1

    def wait(self, left_ns: int, *, exactly: bool) -> Ready:
        """All descriptors that are ready, with what for. Returns when there are some, and else within `left_ns`, often
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
        return self._queue.poll(timeout_s, self._watched + 1)

    def close(self) -> None:
        self._queue.close()


class _Selector:
    """The selectors module's best in the words of epoll."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self.register = self._selector.register
        self.modify = self._selector.modify
        self.unregister = self._selector.unregister
        self.close = self._selector.close

    def fileno(self) -> int:
        return -1

    def poll(self, timeout_s: float, _: int) -> Ready:
        return [(key.fd, mask) for key, mask in self._selector.select(timeout_s)]
