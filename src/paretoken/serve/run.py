"""Serve until told to stop: starts the engine with the recorded settings and waits.

Enters a Winner and where to listen; leaves when the engine ends or Ctrl-C comes. Loopback unless a key guards it.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlsplit

from paretoken.engines.base import Listen
from paretoken.engines.replicas import launch_candidate
from paretoken.study.winner import Winner

LOOK_EVERY_S = 0.5


def serve(winner: Winner, listen: Listen, *, on_ready: Callable[[list[str], Listen], None]) -> None:
    """Blocks. `on_ready(base_urls, where)`, one address a replica and the port that the first has, is called after a
    real completion. Raises EngineError when an engine dies; KeyboardInterrupt stops it, leaving no process, and goes
    up."""
    with launch_candidate(winner.engine, winner.model.path, winner.settings, winner.replicas, listen=listen) as running:
        urls = [part.base_url for part in running.parts]
        on_ready(urls, replace(listen, port=urlsplit(urls[0]).port or listen.port))
        while True:
            running.check(within_s=LOOK_EVERY_S)
            time.sleep(LOOK_EVERY_S)
