"""One small exchange over HTTP whose time is not measured: a check, not a load.

Enters a URL and perhaps a body; leaves status, content type and a bounded body, or an exception. All of it together has
one deadline: a server that sends a byte now and then holds nobody up. Knows nothing of what is asked or answered.
"""

import errno
import http.client
import json
import socket
import ssl
import time
from collections.abc import Mapping
from typing import Any

from paretoken.wire.http1 import ResponseReader, bearer, request_head
from paretoken.wire.text import printable
from paretoken.wire.url import Address, parse_url

_BODY_BYTES = 1 << 20
_READ_BYTES = 1 << 16
_SHOWN = 160  # characters of an error, which may hold a server's words
_UNREACHABLE = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EADDRNOTAVAIL)


class NotHttp(http.client.HTTPException):
    """What answers there does not speak HTTP."""


def exchange(
    url: str,
    body: Mapping[str, Any] | None,
    *,
    timeout_s: float,
    api_key: str | None = None,
    body_limit: int = _BODY_BYTES,
) -> tuple[int, str, bytes]:
    """(status, content type, at most `body_limit` bytes of body), within `timeout_s` in all. GET without a body. Raises
    OSError, http.client.HTTPException, and UsageError for a key that no header can carry."""
    address = parse_url(url)
    until = time.monotonic() + timeout_s
    data = b"" if body is None else json.dumps(body).encode()
    headers = {"connection": "close", **bearer(api_key)}
    path = address.path if address.path.startswith("/") else f"/{address.path}"
    method = "GET" if body is None else "POST"
    head = request_head(method, path, address.host_header, headers, len(data))
    reader = ResponseReader(body_limit=body_limit)
    with _connected(address, timeout_s) as connection:
        connection.settimeout(_left_s(until))
        connection.sendall(head + data)
        while not reader.complete and reader.error is None:
            connection.settimeout(_left_s(until))
            read = connection.recv(_READ_BYTES)
            if not read:
                reader.eof()
                break
            reader.feed(read)
    if reader.error is not None and reader.body_bytes <= body_limit:  # a larger body is cut
        raise NotHttp(reader.error)
    if reader.status is None:
        raise http.client.RemoteDisconnected("it closed the connection without an answer")
    if reader.error is None and not reader.complete:
        raise http.client.HTTPException("it closed the connection within its answer")
    kind = reader.headers.get("content-type", "text/plain").partition(";")[0].strip()
    return reader.status, kind, reader.take_body()


def is_permanent(error: Exception) -> bool:
    """Is asking again of no use? A server that starts refuses, resets or hangs; it does not speak another language,
    have a wrong certificate, or lie beyond the network."""
    if isinstance(error, socket.gaierror):
        return error.errno != socket.EAI_AGAIN
    return isinstance(error, NotHttp | ssl.SSLError) or (isinstance(error, OSError) and error.errno in _UNREACHABLE)


def what_happened(error: Exception) -> str:
    """A clause for a sentence, without a server's control characters."""
    if isinstance(error, TimeoutError):
        return "no whole answer in time"
    if isinstance(error, NotHttp):
        return printable(str(error), _SHOWN)
    return printable(f"{type(error).__name__}: {error}", _SHOWN)


def _connected(address: Address, timeout_s: float) -> socket.socket:
    until = time.monotonic() + timeout_s
    try:
        plain = socket.create_connection((address.host, address.port), max(0.001, timeout_s))
    except UnicodeError as error:  # a label too long for a name: the codec's own error
        raise socket.gaierror(socket.EAI_NONAME, "not a host's name") from error
    if address.scheme == "http":
        return plain
    with plain:  # a handshake that fails closes it; one that succeeds has taken the descriptor over
        plain.settimeout(_left_s(until))
        return ssl.create_default_context().wrap_socket(plain, server_hostname=address.host)


def _left_s(until: float) -> float:
    left_s = until - time.monotonic()
    if left_s <= 0:
        raise TimeoutError("no whole answer in time")
    return left_s
