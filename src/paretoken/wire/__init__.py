"""How endpoints speak, without any input or output: bytes with their moments go in, a Reply comes out.

    http1     response framing and request heads      url   addresses as people write them
    sse       bytes → events of an event stream       ndjson   bytes → lines
    events    events → pieces (JSON, hostile)         base     what a protocol is
    openai_chat  openai_completions  ollama           the protocols
    read      one whole response → Reply

Nothing here opens a socket or looks at a clock. The same code reads a live stream, a saved capture and a test case.
"""

from functools import cache
from typing import TYPE_CHECKING

from paretoken.plugins import Registry

if TYPE_CHECKING:
    from paretoken.wire.base import Protocol

PROTOCOLS = Registry(
    "protocol",
    {
        "openai-chat-sse": "paretoken.wire.openai_chat:OPENAI_CHAT",
        "openai-completions-sse": "paretoken.wire.openai_completions:OPENAI_COMPLETIONS",
        "ollama-ndjson": "paretoken.wire.ollama:OLLAMA",
    },
)


@cache
def protocol_named(name: str) -> "Protocol":
    """The protocol of that name. Raises UsageError that lists what there is."""
    protocol: Protocol = PROTOCOLS.load(name)
    return protocol
