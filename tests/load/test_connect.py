"""Where a connection goes when a name has several addresses."""

import socket

import pytest

from paretoken.load.connect import connector, resolve
from paretoken.wire.url import Address
from tests.load.driving import closed_port


def test_of_several_addresses_the_one_that_accepts_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    dead = closed_port()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        alive = int(listener.getsockname()[1])
        places = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)) for port in (dead, alive)]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: places)
        assert resolve("twofold", 80, 1.0) == (socket.AF_INET, ("127.0.0.1", alive))
    assert resolve("twofold", 80, 1.0) == (socket.AF_INET, ("127.0.0.1", dead))


def test_a_refused_connection_raises_when_it_is_looked_at() -> None:
    connection = connector(Address("http", "127.0.0.1", closed_port(), "/"), 1.0)()
    with pytest.raises(OSError, match="refused"):
        for _ in range(1000):
            assert not connection.ready()
    connection.close()
