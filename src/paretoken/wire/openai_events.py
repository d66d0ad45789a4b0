"""What one event of an OpenAI-like stream says: chat and text completions share it, and so do most imitators.

In: a decoded JSON object, of any shape. Out: a Piece. Only choice 0 is read: further choices share its prompt and its
moments, and `usage` does not tell them apart.
"""

from typing import Any

from paretoken.wire.base import Piece, ToolPart
from paretoken.wire.events import count, error_message, mapping, numbers, string

_NOT_USAGE = (None, None, None, None)


def openai_piece(event: dict[str, Any]) -> Piece:
    error = event.get("error")
    if error or event.get("object") == "error":
        return Piece(error=error_message(error or event))
    output_tokens, prompt_tokens, cached_tokens, reasoning_tokens = _usage(event.get("usage"))
    timings = numbers(event.get("timings")) if "timings" in event else None
    if cached_tokens is None and timings is not None:
        cached_tokens = count(mapping(event["timings"]).get("cache_n"))  # llama.cpp
    text = reasoning = refusal = ""
    finish_reason = None
    tools: tuple[ToolPart, ...] = ()
    choices = event.get("choices")
    for position, choice in enumerate(choices if isinstance(choices, list) else ()):
        if not isinstance(choice, dict):
            continue
        index = choice.get("index")
        if (position if index is None else index) != 0:
            continue
        delta = choice.get("delta")
        if isinstance(delta, dict):
            text += string(delta.get("content")) or string(delta.get("text"))
            # Two names for one thing; servers in transition send both, with the same text.
            reasoning += string(delta.get("reasoning_content")) or string(delta.get("reasoning"))
            refusal += string(delta.get("refusal"))
            if delta.get("tool_calls"):
                tools += tool_parts(delta["tool_calls"])
        text += string(choice.get("text"))
        finish_reason = string(choice.get("finish_reason")) or finish_reason
    return Piece(
        text=text,
        reasoning=reasoning,
        refusal=refusal,
        tools=tools,
        finish_reason=finish_reason,
        output_tokens=output_tokens,
        prompt_tokens=prompt_tokens,
        cached_tokens=cached_tokens,
        reasoning_tokens=reasoning_tokens,
        timings=timings,
    )


def tool_parts(calls: Any) -> tuple[ToolPart, ...]:
    """Fragments in the order given; one without an index belongs to the call of its position."""
    parts = []
    for position, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, dict):
            function = mapping(call.get("function"))
            index = count(call.get("index"))
            parts.append(
                ToolPart(
                    index=position if index is None else index,
                    id=string(call.get("id")),
                    name=string(function.get("name")),
                    arguments=string(function.get("arguments")),
                )
            )
    return tuple(parts)


def _usage(usage: Any) -> tuple[int | None, int | None, int | None, int | None]:
    """(output, prompt, cached, reasoning) tokens. `"usage": null` is absence, not zero."""
    if not isinstance(usage, dict):
        return _NOT_USAGE
    return (
        count(usage.get("completion_tokens")),
        count(usage.get("prompt_tokens")),
        count(mapping(usage.get("prompt_tokens_details")).get("cached_tokens")),
        count(mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")),
    )
