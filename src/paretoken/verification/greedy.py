"""The same prompts put to a running server, greedily: what it says, and how clear each choice was to it.

Enters a `Running` endpoint and chats; leave frozen `Said`s. llama.cpp's server tells token ids and, beside them, the
lead of each over the second best; of any other server there is only the text of a streamed answer. Nothing is judged
here. Raises EngineError when a server does not answer as it should.
"""

import http.client
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paretoken.core.request import Message, Request, Sampling
from paretoken.engines.base import Running
from paretoken.engines.exchange import exchange, what_happened
from paretoken.errors import EngineError
from paretoken.wire import protocol_named

TIMEOUT_S = 120.0
_ABSENT = (404, 405, 501)  # the server has no such address

Chat = tuple[Message, ...]

_SYSTEM = Message("system", "You are a helpful assistant. Answer plainly.")
_FERRY = (
    "The ferry leaves the north pier at seven, calls at two small islands, and is back at the north pier before noon."
)
_CODE = (
    "def area(width, height):\n    return width * height\n\n"
    "def volume(width, height, depth):\n    return width * height * depth"
)
_LIST = (
    "Monday: bread, milk, eggs. Tuesday: rice, beans, onions. Wednesday: fish, lemons, parsley. Thursday: pasta, "
    "tomatoes, basil."
)


def _free(asked: str) -> Chat:
    return (_SYSTEM, Message("user", asked))


def _again(asked: str, said: str, again: str) -> Chat:
    return (_SYSTEM, Message("user", asked), Message("assistant", said), Message("user", again))


# Copying, where n-grams draft much, and free text, where they draft little.
CHATS: tuple[Chat, ...] = (
    _again("Tell me when the ferry goes.", _FERRY, "Say that again, word for word."),
    _free("Explain in a few sentences why the sky looks blue."),
    _again("Write two short functions.", _CODE, "Repeat your last answer exactly as it was."),
    _free("What should I check before I buy a used bicycle?"),
    _again(f"Copy this list exactly: {_LIST}", _LIST, "Copy it once more, exactly."),
    _free("Describe a small harbour town on a rainy morning."),
)


@dataclass(frozen=True, slots=True)
class Said:
    """One greedy answer. `tokens` is None where the server tells only text; a gap (nats, its best over its second best)
    is None where the server does not say it, as for a token that came out of a draft."""

    prompt: int
    text: str
    tokens: tuple[int, ...] | None = None
    gaps: tuple[float | None, ...] = ()
    drafted: int = 0
    accepted: int = 0


def ask(
    running: Running,
    chats: Sequence[tuple[int, Chat]],
    tokens: int,
    *,
    extra: Mapping[str, Any] | None = None,
    gaps: bool = False,
    first_part: int = 0,
) -> tuple[Said, ...]:
    """Answers of up to `tokens` tokens to the numbered chats, one after the other. `extra` goes into every body, as in
    a run. `gaps`: ask for the leads too; without, requests are as a user's. A server of several parts is asked in turn,
    from `first_part` on, so that another round meets another part."""
    parts: tuple[Running, ...] = getattr(running, "parts", (running,))
    found = []
    for turn, (number, chat) in enumerate(chats):
        part = parts[(turn + first_part) % len(parts)]
        # It may have died of the question before.
        part.check()
        said = _tokens_said(part, number, chat, tokens, extra or {}, gaps)
        found.append(_text_said(part, number, chat, tokens, extra or {}) if said is None else said)
    return tuple(found)


def _tokens_said(
    running: Running, number: int, chat: Chat, tokens: int, extra: Mapping[str, Any], gaps: bool
) -> Said | None:
    """By llama.cpp's own completion, which names token ids; None where there is none."""
    messages = [{"role": message.role, "content": message.content} for message in chat]
    written = _posted(running, "/apply-template", {"messages": messages})
    if written is None:
        return None
    body = {"n_predict": tokens, "temperature": 0, "return_tokens": True, "n_probs": 2 if gaps else 0}
    said = _posted(running, "/completion", {**body, "prompt": written.get("prompt"), **extra})
    if said is None:
        return None
    try:
        ids = tuple(int(token) for token in said["tokens"])
        leads = [_gap(position) for position in said.get("completion_probabilities") or ()]
        timings = said.get("timings") or {}
        return Said(
            number,
            str(said["content"]),
            ids,
            tuple(leads) if len(leads) == len(ids) else (None,) * len(ids),
            int(timings.get("draft_n") or 0),
            int(timings.get("draft_n_accepted") or 0),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise EngineError("the engine's server does not say which tokens it chose; update it") from error


def _gap(position: Mapping[str, Any]) -> float | None:
    """None for a token that was drafted, or was not the likeliest: a penalty chose it, whose lead is not told."""
    best = position["top_logprobs"]
    if len(best) < 2 or best[0]["id"] != position["id"]:
        return None
    return float(best[0]["logprob"]) - float(best[1]["logprob"])


def _text_said(running: Running, number: int, chat: Chat, tokens: int, extra: Mapping[str, Any]) -> Said:
    """By the protocol that every server of its kind speaks: a streamed answer, whose text alone counts."""
    speaks = protocol_named(running.protocol)
    request = Request(number, number, 0, chat, Sampling(tokens))
    status, data = _sent(running, speaks.default_path, speaks.body(request, running.model_name, extra))
    if status != 200:
        raise EngineError(f"the engine's server answered {speaks.default_path} with HTTP {status}")
    reader = speaks.reader()
    pieces = [*reader.feed(data), *reader.end()]
    error = next((piece.error for piece in pieces if piece.error is not None), reader.failure)
    if error is not None or reader.n_malformed or not any(piece.is_chunk for piece in pieces):
        raise EngineError(f"the engine's server gave no whole answer: {error or 'nothing that can be read'}")
    timings = next((piece.timings for piece in reversed(pieces) if piece.timings), {})
    return Said(
        number,
        "".join(piece.reasoning + piece.text for piece in pieces),
        drafted=int(timings.get("draft_n", 0)),
        accepted=int(timings.get("draft_n_accepted", 0)),
    )


def _posted(running: Running, path: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
    """The JSON object answered; None where the server has no such address."""
    status, data = _sent(running, path, body)
    if status in _ABSENT:
        return None
    try:
        said = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise EngineError(f"the engine's server answered {path} with something that is not JSON") from error
    if status != 200 or not isinstance(said, dict):
        raise EngineError(f"the engine's server answered {path} with HTTP {status}")
    return said


def _sent(running: Running, path: str, body: Mapping[str, Any]) -> tuple[int, bytes]:
    try:
        status, _, data = exchange(running.base_url + path, body, timeout_s=TIMEOUT_S)
    except (OSError, http.client.HTTPException) as error:
        running.check(within_s=1.0)  # a dead engine has more to say than its broken connection
        raise EngineError(f"the engine's server did not answer {path} ({what_happened(error)})") from error
    return status, data
