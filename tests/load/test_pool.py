"""The pool: what it gives out stands, as far as can be seen before sending."""

import select
import socket
from collections.abc import Iterator

import pytest

from paretoken.load.poller import Poller
from paretoken.load.pool import Pool
from paretoken.load.sockets import Connection


class Kept:
    """A pool that keeps `ends` connections, with the server's ends of them."""

    def __init__(self, listener: socket.socket, ends: int) -> None:
        self.poller = Poller()
        self.pool = Pool(lambda: Connection(socket.AF_INET, listener.getsockname()), self.poller)
        self.connections: list[Connection] = []
        self.ends: list[socket.socket] = []
        for _ in range(ends):
            connection = self.pool.open()
            self.connections.append(connection)
            self.ends.append(listener.accept()[0])
            assert connection.ready()
            self.pool.keep(connection)


@pytest.fixture
def two() -> Iterator[Kept]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        kept = Kept(listener, 2)
        yield kept
        for end in kept.ends:
            end.close()
        for connection in kept.connections:
            connection.close()
        kept.pool.close()
        kept.poller.close()


def wait_until_readable(connection: Connection) -> None:
    assert select.select([connection.fd], [], [], 5.0)[0]


def test_the_one_used_last_is_given_out_first(two: Kept) -> None:
    assert two.pool.kept() is two.connections[1]
    assert two.pool.kept() is two.connections[0]
    assert two.pool.kept() is None


@pytest.mark.parametrize("unasked", [b"", b"HTTP/1.1 408 Request Timeout\r\n\r\n"])
def test_a_closed_connection_is_seen_before_anything_is_sent_on_it(two: Kept, unasked: bytes) -> None:
    """Also when the poller had no turn since the server closed it."""
    two.ends[1].sendall(unasked)
    two.ends[1].close()
    wait_until_readable(two.connections[1])
    assert two.pool.kept() is two.connections[0]
    assert two.connections[1].sock.fileno() == -1
    assert two.pool.kept() is None
