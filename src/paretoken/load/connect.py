"""From an address to a function that opens one connection: names resolved and TLS prepared before the run begins."""

import contextlib
import socket
import ssl
from collections.abc import Callable

from paretoken.errors import EndpointError
from paretoken.load.sockets import Connection, SocketAddress
from paretoken.load.tls import TlsConnection
from paretoken.wire.url import Address


def connector(address: Address, connect_s: float, context: ssl.SSLContext | None = None) -> Callable[[], Connection]:
    """`context` checks the server's certificate; None: by the system's authorities. Raises EndpointError for a name
    that does not resolve."""
    family, place = resolve(address.host, address.port, connect_s)
    if address.scheme == "http":
        return lambda: Connection(family, place)
    checked = context or ssl.create_default_context()
    return lambda: TlsConnection(family, place, checked, address.host)


def resolve(host: str, port: int, connect_s: float) -> tuple[int, SocketAddress]:
    """Family and address to connect to. Where a name has several (localhost often does), the first that accepts."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise EndpointError(f"the host '{host}' is not known ({error}); check the address") from error
    places = [(int(family), place) for family, _, _, _, place in found]
    if len(places) > 1:
        for family, place in places:
            with socket.socket(family, socket.SOCK_STREAM) as probe, contextlib.suppress(OSError):
                probe.settimeout(connect_s)
                probe.connect(place)
                return family, place
    return places[0]
