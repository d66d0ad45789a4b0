"""HTTP/1.1 framing without sockets: bytes of a response → status, headers, body bytes, and where it ends.

In: what the socket gave, in any cut. Out: properties that grow. It raises on nothing that a server can send: what is
wrong stands in `error`, and from then on bytes are ignored. Heads and trailers are bounded at 64 KiB, bodies by
`body_limit`. It knows nothing of events, of time, or of what the body means.
"""

from collections.abc import Mapping

import httptools

from paretoken.errors import UsageError
from paretoken.units import show_bytes

HEAD_LIMIT = 64 * 1024
BODY_LIMIT = 1024 * 1024 * 1024

_BODYLESS = (204, 304)


class ResponseReader:
    """Reads one response. With `keep_body=False` body bytes are counted only: enough to know where it ends."""

    def __init__(self, keep_body: bool = True, body_limit: int = BODY_LIMIT) -> None:
        self.status: int | None = None  # of the final response; interim ones (100, 103) are passed over
        self.headers: dict[str, str] = {}
        self.complete = False
        self.keep_alive = False  # known when complete: may the connection carry another request
        self.error: str | None = None
        self.chunked = False  # known with the status
        self.body_parts: list[bytes] = []
        self.body_bytes = 0
        self._keep_body = keep_body
        self._body_limit = body_limit
        self._until_close = False
        self._interim = False
        self._head_bytes = 0
        self._quiet_bytes = 0  # since the last body byte: bounds heads, interim responses, chunk sizes and trailers
        # Parser and reader hold each other; the parser is let go at the end because the collector is off in a run.
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        """Take what one read gave. After the end, bytes are ignored: they forbid the connection's reuse."""
        if self._parser is None:
            self.keep_alive = self.keep_alive and not data
            return
        self._quiet_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.error = "the server switched to another protocol"
        except httptools.HttpParserError as error:
            if not self.complete:  # else it was the bytes after the end
                self.error = self.error or f"the answer is not HTTP: {str(error).strip() or type(error).__name__}"
            self.keep_alive = False
        if self.error is None and not self.complete and self._quiet_bytes > HEAD_LIMIT:
            self.error = f"the response's head or trailer is larger than {show_bytes(HEAD_LIMIT)}"
        if self.complete or self.error is not None:
            self._parser = None

    def eof(self) -> None:
        """The connection was closed: the end of a response that had no other, and of nothing else."""
        if self.error is None and self._until_close:
            self.complete = True
        self.keep_alive = False
        self._parser = None

    def take_body(self) -> bytes:
        """The body bytes since the last call."""
        body = self.body_parts[0] if len(self.body_parts) == 1 else b"".join(self.body_parts)
        self.body_parts.clear()
        return body

    # The parser's callbacks. It goes on with a next response after the end of one: that is no business of ours.

    def on_message_begin(self) -> None:
        if self.complete:
            self.keep_alive = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_bytes += len(name) + len(value) + 4
        if self.status is not None or self._head_bytes > HEAD_LIMIT:  # a trailer, or too much
            return
        key = name.decode("latin-1").lower()
        text = value.decode("latin-1")
        self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        if self.complete or self.error is not None or self._parser is None:
            return
        status = self._parser.get_status_code()
        if self._head_bytes > HEAD_LIMIT:
            self.error = f"the response's head is larger than {show_bytes(HEAD_LIMIT)}"
            return
        self._interim = 100 <= status < 200
        if self._interim:
            self.headers.clear()
            return
        self.status = status
        self._quiet_bytes = 0
        coding = self.headers.get("transfer-encoding", "").rpartition(",")[2].strip().lower()
        self.chunked = status not in _BODYLESS and coding == "chunked"
        self._until_close = (
            status not in _BODYLESS and not self.chunked and (bool(coding) or "content-length" not in self.headers)
        )

    def on_body(self, body: bytes) -> None:
        if self.complete or self.error is not None:
            return
        self._quiet_bytes = 0
        self.body_bytes += len(body)
        if self.body_bytes > self._body_limit:
            self.error = f"the response's body is larger than {show_bytes(self._body_limit)}"
        elif self._keep_body:
            self.body_parts.append(body)

    def on_message_complete(self) -> None:
        if self._interim or self.complete or self.error is not None or self._parser is None:
            return
        self.complete = True
        self.keep_alive = bool(self._parser.should_keep_alive())


def request_head(method: str, path: str, host: str, headers: Mapping[str, str], body_length: int) -> bytes:
    """The head of a request, blank line included. `host` is the Host header's value, `headers` win over the defaults.

    Raises UsageError, without repeating any value (it may be a key), where a header could not be sent as one line.
    """
    fields = {
        "host": host,
        "accept": "*/*",
        "accept-encoding": "identity",  # a compressed stream has no honest arrival times
        "content-type": "application/json",
        **{name.lower(): value for name, value in headers.items()},
        "content-length": str(body_length),
    }
    for name, value in fields.items():
        if not _is_token(name) or not _is_value(value):
            raise UsageError(f"the header '{name.encode('ascii', 'replace').decode()}' holds what a header can't carry")
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def bearer(api_key: str | None) -> dict[str, str]:
    """The header that carries a key; nothing without one. Raises UsageError, which does not repeat the key."""
    if not api_key:
        return {}
    if not _is_value(api_key):
        raise UsageError("the API key holds a line end or another character that no header can carry; set it anew")
    return {"authorization": f"Bearer {api_key}"}


def _is_value(value: str) -> bool:
    return all(32 <= ord(character) <= 255 and not 127 <= ord(character) <= 159 for character in value)


def _is_token(name: str) -> bool:
    return bool(name) and all(
        character.isascii() and (character.isalnum() or character in "!#$%&'*+-.^_`|~") for character in name
    )
