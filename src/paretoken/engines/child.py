"""What an engine program of ours shares: its orders come on stdin, its address goes to the supervisor.

Standard library only; runs inside the engine's process.
"""

import json
import os
import sys
from typing import Any

from paretoken.engines.supervisor_child import REPORT_FD

KEY_VARIABLE = "PARETOKEN_ENGINE_KEY"  # environment variable: the API key, which is never in an argv or a file


def orders() -> dict[str, Any]:
    """The JSON object on stdin."""
    given: dict[str, Any] = json.load(sys.stdin)
    return given


def report_url(url: str) -> None:
    """Says where this engine listens. Called once, after the socket listens."""
    fd = int(os.environ[REPORT_FD])
    os.write(fd, json.dumps({"url": url}).encode() + b"\n")
    os.close(fd)
