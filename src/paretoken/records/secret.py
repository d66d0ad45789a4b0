"""A key never stays on the disk, not even where a server sends it back in an error message or an answer.

In: a raw capture or a Record, and the key that the run was made with. Out: the same with asterisks in its place, as
many as it had letters, so that nothing moves. What arrives in pieces is joined in a Record before it is looked through;
in the capture's bytes only a whole key is found.
"""

import mmap
from dataclasses import replace
from pathlib import Path

from paretoken.core.record import Record

SHORTEST = 8  # characters; a shorter word is no secret, and stands in honest text


def forget_key(capture: Path, key: str) -> None:
    """In place; the file keeps its length."""
    word = key.encode()
    if len(key) < SHORTEST or capture.stat().st_size == 0:
        return
    with capture.open("r+b") as file, mmap.mmap(file.fileno(), 0) as content:
        at = content.find(word)
        while at >= 0:
            content[at : at + len(word)] = b"*" * len(word)
            at = content.find(word, at + len(word))


def without_key(record: Record, key: str) -> Record:
    if len(key) < SHORTEST:
        return record
    reply = record.reply

    def clean(text: str) -> str:
        return text.replace(key, "*" * len(key))

    return replace(
        record,
        reply=replace(
            reply,
            error_message=None if reply.error_message is None else clean(reply.error_message),
            finish_reason=None if reply.finish_reason is None else clean(reply.finish_reason),
            text=clean(reply.text),
            reasoning_text=clean(reply.reasoning_text),
            tool_calls=tuple(
                replace(call, id=clean(call.id), name=clean(call.name), arguments=clean(call.arguments))
                for call in reply.tool_calls
            ),
        ),
    )
