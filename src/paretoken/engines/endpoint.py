"""An address that somebody else runs, in the shape of something that runs: for `measure URL` and its kin.

Enters a URL as people write it; leaves an `Attached`, which has answered a real completion of one token. There is no
process of ours, so nothing is stopped, and there is no log.
"""

import http.client
import json
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from paretoken.core.request import Message, Request, Sampling
from paretoken.engines.exchange import exchange, what_happened
from paretoken.engines.readiness import POLL_S, Answer, ask_one_token
from paretoken.errors import EndpointError
from paretoken.wire import protocol_named
from paretoken.wire.text import printable
from paretoken.wire.url import final_address, final_url

CHECK_S = 30.0
_MODELS_SHOWN = 5
_NAME_SHOWN = 80  # characters
_ONE_TOKEN = Request(0, 0, 0, (Message("user", "Hello"),), Sampling(max_tokens=1))


class Attached:
    """Somebody else's endpoint; implements base.Running."""

    pid: int | None = None
    pgid: int | None = None
    load_s: float | None = None

    def __init__(self, base_url: str, model_name: str, protocol: str) -> None:
        self.base_url = base_url
        self.model_name = model_name
        self.protocol = protocol
        self.engine_args: Mapping[str, Any] = {}

    @property
    def parts(self) -> "tuple[Attached, ...]":
        return (self,)

    def alive(self) -> bool:
        """As far as one can know: a failing request is a record, not a death."""
        return True

    def check(self, within_s: float = 0.0) -> None:
        pass

    def log_tail(self) -> str:
        return ""

    def stop(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


def attach(
    url: str,
    *,
    model: str | None = None,
    protocol: str = "openai-chat-sse",
    api_key: str | None = None,
    timeout_s: float = CHECK_S,
    on_wait: Callable[[str], None] | None = None,
) -> Attached:
    """Checks the endpoint by one token; without `model` it asks which one is served. `base_url` stays as given.
    `on_wait` hears what is waited for: a busy or loading endpoint is asked again for `timeout_s`. Raises EndpointError,
    naming host and port, and UsageError for what is not an address."""
    name = model or served_model(url, protocol=protocol, api_key=api_key, timeout_s=timeout_s)
    answer = _first_answer(url, name, protocol, api_key, timeout_s, on_wait)
    if answer.state != "ready":
        raise EndpointError(f"{url} {answer.seen}; check the address, and that a model server runs there")
    return Attached(url, name, protocol)


def _first_answer(
    url: str,
    model: str,
    protocol: str,
    api_key: str | None,
    timeout_s: float,
    on_wait: Callable[[str], None] | None,
) -> Answer:
    """Busy or loading is waited for; a closed port or something else that answers there is not."""
    speaks = protocol_named(protocol)
    body = speaks.body(_ONE_TOKEN, model, {})
    body.pop("stream_options", None)  # allowed only when streaming
    until = time.monotonic() + timeout_s
    while True:
        left_s = max(0.1, until - time.monotonic())
        answer = ask_one_token(final_url(url, speaks.default_path), body, left_s, api_key)
        if answer.state != "loading" or time.monotonic() + POLL_S > until:
            return answer
        if on_wait is not None:
            on_wait(f"{url} {answer.seen}; asking again for up to {timeout_s:g} s")
            on_wait = None  # once is enough
        time.sleep(POLL_S)


def served_model(
    url: str, *, protocol: str = "openai-chat-sse", api_key: str | None = None, timeout_s: float = CHECK_S
) -> str:
    """The one model that is served there. Raises EndpointError when there is none, or more than one to choose from."""
    listing, key, name = (
        ("/api/tags", "models", "name") if protocol == "ollama-ndjson" else ("/v1/models", "data", "id")
    )
    address = final_address(url, listing)
    try:
        status, _, data = exchange(address.url, None, timeout_s=timeout_s, api_key=api_key)
    except ConnectionRefusedError as error:
        raise EndpointError(f"{url} refused the connection: nothing listens there; start the server first") from error
    except (OSError, http.client.HTTPException) as error:
        raise EndpointError(f"{url} does not answer ({what_happened(error)}); check the address") from error
    try:
        names = [str(model[name]) for model in json.loads(data)[key]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise EndpointError(
            f"{address.url} answers HTTP {status} and lists no models; name one with --model"
        ) from error
    if len(names) != 1:
        shown = ", ".join(f"'{printable(name, _NAME_SHOWN)}'" for name in names[:_MODELS_SHOWN]) or "none"
        raise EndpointError(f"{url} serves {len(names)} models ({shown}); name one with --model")
    return names[0]
