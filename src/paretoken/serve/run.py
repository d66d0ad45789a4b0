"""Serve until told to stop: starts the engine with the recorded settings and waits.

Enters a Winner and where to listen; leaves when the engine ends or Ctrl-C comes. Loopback unless a key guards it.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlsplit

from paretoken.engines.base import Listen
from paretoken.serve.winner import Winner

LOOK_EVERY_S = 0.5


def serve(winner: Winner, listen: Listen, *, on_ready: Callable[[str, Listen], None]) -> None:
    """Blocks. `on_ready(base_url, where)`, with the port that it is, is called after a real completion. Raises
    EngineError when the engine dies; KeyboardInterrupt stops it, leaving no process, and goes up."""
    with winner.engine.launch(winner.model.path, winner.settings, listen=listen) as running:
        on_ready(running.base_url, replace(listen, port=urlsplit(running.base_url).port or listen.port))
        while True:
            running.check(within_s=LOOK_EVERY_S)
            time.sleep(LOOK_EVERY_S)
