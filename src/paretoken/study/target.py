"""URL or model → something that runs and has answered: what `measure` and `trace` are pointed at."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from paretoken.engines.base import Running
from paretoken.engines.endpoint import attach
from paretoken.errors import MissingExtraError, UsageError
from paretoken.models.find import resolve
from paretoken.study.bench import Bench

DEFAULT_KEY_VARIABLE = "OPENAI_API_KEY"
EMBEDDED_MODEL = "smollm2-135m"


def is_url(target: str) -> bool:
    return "://" in target


def key_variable(named: str | None) -> str | None:
    """The environment variable to take the key from: the one named, which must be set, else OPENAI_API_KEY if set."""
    if named is None:
        return DEFAULT_KEY_VARIABLE if os.environ.get(DEFAULT_KEY_VARIABLE) else None
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", named) and named not in os.environ:
        # A key that was put here by mistake is not repeated.
        raise UsageError("--api-key-env takes the name of an environment variable, such as OPENAI_API_KEY, not a key")
    if not os.environ.get(named):
        raise UsageError(f"the environment variable '{named}' (--api-key-env) is not set; export it with the key")
    return named


@contextmanager
def running_target(
    bench: Bench,
    target: str,
    *,
    model: str | None = None,
    protocol: str = "openai-chat-sse",
    api_key_env: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Iterator[Running]:
    """A URL is attached to and checked by one token; a model is launched on the bench's engine with `settings`.

    Raises EndpointError, EngineError, ModelError, UsageError.
    """
    if is_url(target):
        key = os.environ.get(api_key_env) if api_key_env else None
        with attach(target, model=model, protocol=protocol, api_key=key, on_wait=bench.talk.line) as running:
            yield running
        return
    if model is not None:
        raise UsageError(f"--model names a model behind a URL; '{target}' is a model itself")
    if bench.engine.missing() is not None:
        raise MissingExtraError("measuring a model here", "local")
    found = resolve(target, say=bench.talk.line)
    bench.talk.progress(f"starting {found.name}")
    with bench.engine.launch(found.path, bench.settings(dict(settings or {}))) as running:
        bench.talk.progress("")
        yield running
