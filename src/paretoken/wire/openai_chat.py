"""OpenAI's chat completions, streamed as server-sent events: what most servers speak.

In: a Request. Out: a JSON body, and a reader of the answer. It knows nothing of addresses, keys or moments.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paretoken.core.request import Request
from paretoken.wire.events import EventReader
from paretoken.wire.openai_events import openai_piece
from paretoken.wire.sse import SseSplitter


@dataclass(frozen=True, slots=True)
class OpenAiChat:
    name: str = "openai-chat-sse"
    default_path: str = "/v1/chat/completions"
    content_types: tuple[str, ...] = ("text/event-stream",)

    def body(self, request: Request, model: str, extra: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON body. `extra` goes in as it is, on top (an engine's own settings, such as cache_prompt)."""
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        return {"model": model, "messages": messages, **drawing(request), **extra}

    def reader(self) -> EventReader:
        return EventReader(SseSplitter(), openai_piece, b"[DONE]")


def drawing(request: Request) -> dict[str, Any]:
    """How the answer is drawn and streamed, as both completions endpoints want it said."""
    sampling = request.sampling
    body: dict[str, Any] = {
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "seed": sampling.seed,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if sampling.ignore_eos:  # not OpenAI's own: strict servers refuse unknown keys, so only when asked for
        body["ignore_eos"] = True
    return body


OPENAI_CHAT = OpenAiChat()
