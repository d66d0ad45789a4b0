"""OpenAI's plain text completions, streamed as server-sent events: a prompt without a chat template.

In: a Request; its messages' contents, joined by blank lines, are the prompt. Out: a JSON body, and a reader of the
answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paretoken.core.request import Request
from paretoken.wire.events import EventReader
from paretoken.wire.openai_chat import drawing
from paretoken.wire.openai_events import openai_piece
from paretoken.wire.sse import SseSplitter


@dataclass(frozen=True, slots=True)
class OpenAiCompletions:
    name: str = "openai-completions-sse"
    default_path: str = "/v1/completions"
    content_types: tuple[str, ...] = ("text/event-stream",)

    def body(self, request: Request, model: str, extra: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON body. `extra` goes in as it is, on top."""
        prompt = "\n\n".join(message.content for message in request.messages)
        return {"model": model, "prompt": prompt, **drawing(request), **extra}

    def reader(self) -> EventReader:
        return EventReader(SseSplitter(), openai_piece, b"[DONE]")


OPENAI_COMPLETIONS = OpenAiCompletions()
