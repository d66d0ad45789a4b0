"""The connections of a run: opened when needed, kept when the server allows it, watched by the poller.

A kept connection is watched too: when it can be read while nobody uses it, the server has closed it, or sent bytes that
nobody asked for, and it is dropped. It is looked at once more just before it is given out: a request that was sent on a
closed connection is lost, since it is not sent again. The one used last is used next, so an open loop keeps no more
than it needs.
"""

from collections.abc import Callable

from paretoken.load.poller import READ, Poller
from paretoken.load.sockets import Connection


class Pool:
    def __init__(self, connect: Callable[[], Connection], poller: Poller) -> None:
        self._connect = connect
        self._poller = poller
        self._idle: dict[int, Connection] = {}  # in the order of being kept
        self.opened = 0

    def kept(self) -> Connection | None:
        """The connection that was used last, if one is free and stands."""
        while self._idle:
            connection = self._idle.popitem()[1]
            if connection.is_quiet():
                return connection
            self.shut(connection)
        return None

    def open(self) -> Connection:
        """Begin to open a new one. Raises OSError."""
        connection = self._connect()
        self.opened += 1
        return connection

    def watch(self, connection: Connection, mask: int) -> None:
        if connection.mask == mask:
            return
        if connection.mask:
            self._poller.change(connection.fd, mask)
        else:
            self._poller.watch(connection.fd, mask)
        connection.mask = mask

    def keep(self, connection: Connection) -> None:
        self.watch(connection, READ)
        self._idle[connection.fd] = connection

    def drop(self, fd: int) -> None:
        """A kept connection can be read: it is of no use any more."""
        connection = self._idle.pop(fd, None)
        if connection is not None:
            self.shut(connection)

    def shut(self, connection: Connection) -> None:
        if connection.mask:
            self._poller.forget(connection.fd)
            connection.mask = 0
        connection.close()

    def close(self) -> None:
        while self._idle:
            self.shut(self._idle.popitem()[1])
