"""Addresses as people write them → where to connect and what to ask for.

In: text. Out: an Address, or one sentence. Only http and https. Addresses are stored, so one that may hold a secret (a
name and password, a query, a fragment) is refused without being repeated.
"""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from paretoken.errors import UsageError

_PORTS = {"http": 80, "https": 443}
_VERSION = re.compile(r"v\d")
_ENDPOINTS = ("/chat/completions", "/completions", "/models", "/api/chat", "/api/generate", "/api/tags")


@dataclass(frozen=True, slots=True)
class Address:
    scheme: str  # http | https
    host: str  # a name, or an IP address without brackets
    port: int
    path: str  # as written; "" when there is none

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host_header}{self.path}"


def parse_url(text: str) -> Address:
    """Raises UsageError, in one sentence, for what is not a plain http(s) address."""
    if "://" not in text:
        raise UsageError(f"'{_shown(text)}' is not an address; write http://HOST:PORT")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"'{_shown(text)}' is not an address ({error}); write http://HOST:PORT") from error
    if parts.scheme not in _PORTS:
        raise UsageError(f"'{_shown(text)}' is not http or https; write http://HOST:PORT")
    if "@" in parts.netloc:
        raise UsageError("an address with a name or password in it is refused; put the key into the environment")
    if any(not 0x21 <= ord(character) <= 0x7E for character in text) or not host or port == 0:
        raise UsageError(f"'{_shown(text)}' is not an address; write http://HOST:PORT")
    if "?" in text or "#" in text:
        raise UsageError(
            f"'{_shown(text)}' has something after a ? or # in it, which is refused because addresses are stored; "
            "leave it out, and put a key into an environment variable (--api-key-env NAME)"
        )
    return Address(parts.scheme, host, port or _PORTS[parts.scheme], parts.path)


def final_address(base: str, default_path: str) -> Address:
    """Where a request goes: `base` completed by the protocol's path, whatever of it is there already."""
    address = parse_url(base)
    return Address(address.scheme, address.host, address.port, _completed(address.path.rstrip("/"), default_path))


def final_url(base: str, default_path: str) -> str:
    """http://h:9, http://h:9/v1/ and http://h:9/v1/chat/completions → http://h:9/v1/chat/completions."""
    return final_address(base, default_path).url


def _completed(path: str, default_path: str) -> str:
    if path.endswith(default_path):
        return path
    for endpoint in _ENDPOINTS:  # another endpoint's address was pasted: its root is meant
        if path.endswith(endpoint):
            path = path.removesuffix(endpoint)
            break
    first, *rest = default_path.strip("/").split("/")
    segments = path.split("/")
    # A versioned root (/v1, /v3, /v1beta/openai) takes the place of the path's own version.
    if segments[-1] == first or (_VERSION.match(first) and any(map(_VERSION.match, segments))):
        return "/".join([path, *rest])
    return path + default_path


def _shown(text: str) -> str:
    """What the sentence may repeat: no credentials, no query or fragment, no control characters, not long."""
    text = re.split(r"[?#]", re.sub(r"//[^/]*@", "//…@", text), maxsplit=1)[0]
    return "".join(character if character.isprintable() else "�" for character in text[:100])
