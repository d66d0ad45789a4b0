"""Is it ready? Only a real one-token completion, from our own process, counts.

Enters an engine that is starting; leaves its address, or an EngineError in one sentence. A health page that says 200,
a web server that happens to have the port, and a model that is still loading are all not ready. Knows no engine.
"""

import http.client
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from paretoken.engines.exchange import exchange, is_permanent, what_happened
from paretoken.errors import EngineError
from paretoken.wire.text import printable

POLL_S = 0.05
_LOADING = (408, 429, 502, 503, 504)  # busy or not there yet: ask again
_SHOWN = 120  # characters of what a server said


@dataclass(frozen=True, slots=True)
class Answer:
    """One attempt. `state`: ready | loading (ask again) | refused (nobody listens) | wrong (no use asking again)."""

    state: str
    seen: str  # a clause: "answers HTTP 503"


class Starting(Protocol):
    """What is asked of an engine while it starts; supervisor.Supervised is one."""

    @property
    def name(self) -> str: ...

    def reported(self, timeout_s: float = 0.0) -> str | None: ...

    def death(self, within_s: float = 0.0) -> str | None: ...

    def owns(self, url: str) -> bool | None: ...


def wait_until_ready(
    engine: Starting,
    ask: Callable[[str, float], Answer],
    *,
    timeout_s: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Asks `ask(url, seconds_left)` until it is ready; returns the URL. Raises EngineError, without the log's tail
    unless the engine died."""
    until = clock() + timeout_s
    seen = "it has not said where it listens"
    while True:
        if (death := engine.death()) is not None:
            raise EngineError(death)
        left_s = until - clock()
        if left_s <= 0:
            raise EngineError(f"{engine.name} was not ready after {timeout_s:g} s: {seen}; allow more time")
        report = engine.reported(min(left_s, POLL_S))
        if report is None:
            continue
        url = _url_in(report, engine.name)
        ours = engine.owns(url)
        if ours is False:
            raise EngineError(f"{engine.name}: {url} is served by another process, not by the one that was started")
        answer = ask(url, left_s) if ours else Answer("loading", "does not listen yet")
        if answer.state == "ready":
            return url
        if answer.state == "wrong":
            raise EngineError(f"{engine.name} at {url} {answer.seen}")
        seen = f"{url} {answer.seen}"
        sleep(POLL_S)


def _url_in(report: str, name: str) -> str:
    try:
        url = str(json.loads(report)["url"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise EngineError(f"{name} reported '{printable(report, _SHOWN)}' instead of its address") from error
    # An engine that listens on every address reports one that nobody can connect to.
    return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


def chat_body(model: str) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1, "temperature": 0}


def ask_one_token(url: str, body: Mapping[str, Any], timeout_s: float, api_key: str | None = None) -> Answer:
    """One real completion, not streamed. Never raises for what the other side does; UsageError for an impossible
    key."""
    try:
        status, kind, data = exchange(url, {**body, "stream": False}, timeout_s=timeout_s, api_key=api_key)
    except ConnectionRefusedError:
        return Answer("refused", "refused the connection")
    except (OSError, http.client.HTTPException) as error:
        state = "wrong" if is_permanent(error) else "loading"
        return Answer(state, f"did not answer a completion ({what_happened(error)})")
    return _judge(status, kind, data)


def _judge(status: int, kind: str, data: bytes) -> Answer:
    head = f"'{printable(data[: 4 * _SHOWN].decode(errors='replace'), _SHOWN)}'"
    if status in _LOADING:
        return Answer("loading", f"answers HTTP {status} {head}")
    if status in (401, 403):
        return Answer("wrong", f"answers HTTP {status}: it wants another API key")
    if status != 200:
        lost = "; it is not an inference server, or it speaks another protocol" if status in (404, 405) else ""
        return Answer("wrong", f"answers a completion with HTTP {status}{lost}: {head}")
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict) or not (said.get("choices") or said.get("done")):  # OpenAI's form, Ollama's form
        shown = printable(kind, _SHOWN)
        return Answer("wrong", f"is not an inference server: it answers a completion with {shown} {head}")
    return Answer("ready", "answered a completion")
