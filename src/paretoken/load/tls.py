"""TLS over our own sockets, so that encrypted reads carry the kernel's receive stamps too.

The ssl module's sockets hide the ancillary data; here it works on memory, and the bytes go through Connection. The
stamp of a piece of plain text is that of the read which completed its TLS record.
"""

import ssl
from typing import Any

from paretoken.load.sockets import READ_BYTES, Connection, SocketAddress

_PIECE_BYTES = 16 * 1024  # one TLS record


class TlsConnection(Connection):
    __slots__ = ("_bytes", "_incoming", "_outgoing", "_over", "_pending", "_pieces", "_tls", "_waits_to_write")

    plain = False

    def __init__(self, family: int, address: SocketAddress, context: ssl.SSLContext, host: str) -> None:
        super().__init__(family, address)
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._pending = b""  # encrypted, not yet taken by the kernel
        self._waits_to_write = True
        self._over = False
        self._pieces = self._bytes = 0  # received, encrypted

    @property
    def _raw_reads(self) -> int:
        return self._pieces

    @property
    def _raw_bytes(self) -> int:
        return self._bytes

    def ready(self) -> bool:
        if not super().ready():
            return False
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._waits_to_write = not self.flushed()
                if self._waits_to_write or not self._take_in():
                    return False
            else:
                self._waits_to_write = False
                self.flushed()
                return True

    def wants_write(self) -> bool:
        return self._waits_to_write

    def send(self, data: memoryview) -> int:
        if not self.flushed():
            return 0
        piece = data[:_PIECE_BYTES]
        self._tls.write(piece)
        self.flushed()
        return len(piece)

    def flushed(self) -> bool:
        self._pending += self._outgoing.read()
        if self._pending:
            self._pending = self._pending[super().send(memoryview(self._pending)) :]
        return not self._pending

    def is_quiet(self) -> bool:
        return not self._over and super().is_quiet()

    def receive(self) -> tuple[bytes, list[Any]]:
        encrypted, ancillary = self._receive()
        if encrypted:
            self._incoming.write(encrypted)
        else:
            self._incoming.write_eof()
        plain = self._decrypted()
        self.flushed()  # the other side may have asked for something of the protocol's own
        if not plain and not self._over:
            raise BlockingIOError  # no record is complete yet
        return plain, ancillary

    def count(self, data: bytes) -> None:
        self.reads += 1
        self.read_bytes += len(data)

    def _receive(self) -> tuple[bytes, list[Any]]:
        encrypted, ancillary = super().receive()
        self._pieces += 1
        self._bytes += len(encrypted)
        self.drained = len(encrypted) < READ_BYTES
        return encrypted, ancillary

    def _decrypted(self) -> bytes:
        parts = []
        try:
            while part := self._tls.read(_PIECE_BYTES):
                parts.append(part)
        except ssl.SSLWantReadError:
            pass
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            self._over = True  # with or without a goodbye: whether it came too early is seen from the response
        return b"".join(parts)

    def _take_in(self) -> bool:
        """Read what the handshake waits for. False when nothing has come yet."""
        try:
            encrypted, _ = self._receive()
        except BlockingIOError:
            return False
        if not encrypted:
            raise ConnectionResetError(0, "the server ended the connection inside the TLS handshake")
        self._incoming.write(encrypted)
        return True
