"""The rest between warm-up and measured part: the child says that it is warm, the parent looks at the server, and on.

In: the parent's pipes. Out: whether to go on, and what is known of the pause. The child waits for one byte, and not for
ever: a parent that is too slow is not waited for, and the run says so. The end of the pipe still means "parent gone".
"""

import contextlib
import os
import select
import time
from typing import IO

import msgspec

WARM = b'{"warm":true}\n'
CHILD_WAITS_S = 20.0
PARENT_TAKES_S = 10.0  # after this the parent does not speak any more: its byte could come after the child's patience
_GO = b"g"


class Rest(msgspec.Struct, frozen=True, kw_only=True):
    """As the child saw it, for the capture."""

    told: bool  # by the parent; False: it went on by itself
    pause_s: float
    cpu_s: float  # of the child, for the warm-up


def wait_for_word(stdin: int, stopped: int, stdout: int, cpu_s: float) -> Rest | None:
    """In the child. None: the parent is gone, or the run is to end."""
    began_s = time.monotonic()
    with contextlib.suppress(BlockingIOError, BrokenPipeError):
        os.write(stdout, WARM)
    ready, _, _ = select.select([stdin, stopped], [], [], CHILD_WAITS_S)
    if stopped in ready or (stdin in ready and not os.read(stdin, 1)):
        return None
    return Rest(told=stdin in ready, pause_s=time.monotonic() - began_s, cpu_s=cpu_s)


def give_word(pipe: IO[bytes], since_s: float) -> None:
    """In the parent, `since_s` (monotonic) being when it heard that the child is warm."""
    if time.monotonic() - since_s < PARENT_TAKES_S:
        with contextlib.suppress(BrokenPipeError):
            pipe.write(_GO)
            pipe.flush()
