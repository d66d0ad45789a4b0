"""Start an engine program and wait until it is ready: what every adapter of ours does in the same way.

Enters an argv and its orders; leaves a `Launched`. Whatever goes wrong (timeout, death, wrong server, Ctrl-C), nothing
is left running and the error carries the last log lines.
"""

import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from paretoken.engines.base import LOCAL, START_TIMEOUT_S, Listen
from paretoken.engines.child import KEY_VARIABLE
from paretoken.engines.listeners import why_not_bindable
from paretoken.engines.readiness import Answer, ask_one_token, chat_body, wait_until_ready
from paretoken.engines.supervisor import GRACE_S, Supervised, with_tail
from paretoken.errors import EngineError

LOG_NAME = "engine.log"


class Launched:
    """An engine that we started; implements base.Running."""

    protocol = "openai-chat-sse"

    def __init__(
        self, engine: Supervised, *, base_url: str, load_s: float, model_name: str, engine_args: Mapping[str, Any]
    ) -> None:
        self._engine = engine
        self.base_url = base_url
        self.load_s: float | None = load_s
        self.model_name = model_name
        self.engine_args = engine_args

    @property
    def parts(self) -> "tuple[Launched, ...]":
        return (self,)

    @property
    def pid(self) -> int | None:
        return self._engine.pid

    @property
    def pgid(self) -> int | None:
        return self._engine.pid  # it leads its own group

    @property
    def supervisor_pid(self) -> int:
        return self._engine.supervisor_pid

    def alive(self) -> bool:
        return self._engine.alive()

    def check(self, within_s: float = 0.0) -> None:
        if (death := self._engine.death(within_s)) is not None:
            raise EngineError(death)

    def log_tail(self) -> str:
        return self._engine.log_tail()

    def stop(self) -> None:
        self._engine.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def check_bindable(listen: Listen) -> None:
    """Raises EngineError in one sentence where an engine would only die with a log."""
    if (why := why_not_bindable(listen.host, listen.port)) is not None:
        raise EngineError(f"{why}; choose another with --host and --port (--port 0: any free one)")


def launch_program(
    name: str,
    argv: Sequence[str],
    orders: Mapping[str, Any],
    *,
    model_name: str,
    engine_args: Mapping[str, Any],
    listen: Listen = LOCAL,
    log_dir: Path | None = None,
    timeout_s: float = START_TIMEOUT_S,
    grace_s: float = GRACE_S,
    cores: tuple[int, ...] | None = None,
) -> Launched:
    """The program reads `orders` and where to listen as JSON from stdin, and reports its URL (child.py).
    Raises EngineError."""
    began = time.monotonic()
    check_bindable(listen)
    if log_dir is not None:
        log_dir.mkdir(parents=True, exist_ok=True)
    engine = Supervised(
        name,
        argv,
        stdin=json.dumps({**orders, "host": listen.host, "port": listen.port, "model_name": model_name}),
        env={KEY_VARIABLE: listen.api_key} if listen.api_key else None,
        log_path=None if log_dir is None else log_dir / LOG_NAME,
        grace_s=grace_s,
        cores=cores,
    )
    with contextlib.ExitStack() as undo:
        undo.callback(engine.stop)

        def ask(url: str, left_s: float) -> Answer:
            return ask_one_token(f"{url}/v1/chat/completions", chat_body(model_name), left_s, listen.api_key)

        try:
            base_url = wait_until_ready(engine, ask, timeout_s=timeout_s)
        except EngineError as error:
            if engine.death() is not None:  # then the sentence has its tail already
                raise
            raise EngineError(with_tail(str(error), engine.log_tail())) from error
        running = Launched(
            engine,
            base_url=base_url,
            load_s=time.monotonic() - began,
            model_name=model_name,
            engine_args=engine_args,
        )
        undo.pop_all()
    return running
