"""Ollama's own chat endpoint, streamed as JSON lines.

In: a Request. Out: a JSON body, and a reader of the answer. The line with `done: true` is finish and end marker in one.
Its durations are nanoseconds and are handed on as the server names them. Ollama has no `ignore_eos`: answers may be
shorter than asked, which a run then says of itself.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paretoken.core.request import Request
from paretoken.wire.base import Piece, ToolPart
from paretoken.wire.events import EventReader, count, error_message, mapping, numbers, string
from paretoken.wire.ndjson import NdjsonSplitter


@dataclass(frozen=True, slots=True)
class Ollama:
    name: str = "ollama-ndjson"
    default_path: str = "/api/chat"
    content_types: tuple[str, ...] = ("application/x-ndjson", "application/ndjson", "application/jsonl")

    def body(self, request: Request, model: str, extra: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON body. `extra` goes in as it is, on top."""
        sampling = request.sampling
        return {
            "model": model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "options": {
                "num_predict": sampling.max_tokens,
                "temperature": sampling.temperature,
                "seed": sampling.seed,
            },
            "stream": True,
            **extra,
        }

    def reader(self) -> EventReader:
        return EventReader(NdjsonSplitter(), ollama_piece)


def ollama_piece(event: dict[str, Any]) -> Piece:
    if event.get("error"):
        return Piece(error=error_message(event["error"]))
    message = mapping(event.get("message"))
    text = string(message.get("content"))
    reasoning = string(message.get("thinking"))
    tools = _tool_calls(message["tool_calls"]) if message.get("tool_calls") else ()
    if event.get("done") is not True:
        return Piece(text=text, reasoning=reasoning, tools=tools)
    return Piece(
        text=text,
        reasoning=reasoning,
        tools=tools,
        done=True,
        finish_reason=string(event.get("done_reason")) or None,
        output_tokens=count(event.get("eval_count")),
        prompt_tokens=count(event.get("prompt_eval_count")),
        timings=numbers({key: value for key, value in event.items() if key.endswith("_duration")}),
    )


def _tool_calls(calls: Any) -> tuple[ToolPart, ...]:
    """Ollama sends each call whole, its arguments as a JSON object."""
    parts = []
    for call in calls if isinstance(calls, list) else ():
        function = mapping(mapping(call).get("function"))
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False) if arguments else ""
        parts.append(ToolPart(index=None, id="", name=string(function.get("name")), arguments=arguments))
    return tuple(parts)


OLLAMA = Ollama()
