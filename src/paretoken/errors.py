"""What can go wrong, as a tree.

    ParetokenError            a sentence for the user; exit 1
    ├── UsageError            the command or a setting is wrong; exit 2
    ├── MissingExtraError     an optional part is not installed; names the extra
    ├── ModelError            a model file is missing, broken or hostile
    ├── EngineError           an engine did not start, died, or is not what it claims to be
    ├── EndpointError         an address does not answer, or answers something else
    ├── CaptureError          a stored capture, record or study cannot be read
    ├── DiskError             a file of ours cannot be written
    └── InvalidMeasurement    measured, but a doubt forbids a verdict; exit 3

Every message is one sentence that names the input and the fix. Failures of single requests are not
errors: they are records (core/record.py). What the system says of a file becomes a sentence by `writing`.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What the system says → what helps. Everything else is left to the words of the system.
_HELP = {
    errno.ENOSPC: "make room on that disk",
    errno.EDQUOT: "make room: your quota on that disk is used up",
    errno.EFBIG: "let files grow longer (ulimit -f)",
    errno.EROFS: "make that disk writable",
    errno.EACCES: "check its permissions",
    errno.EPERM: "check its permissions",
}
ANOTHER_HOME = "give another --home"


class ParetokenError(Exception):
    """Base of all errors that a user sees as one sentence. `exit_code` is the process's exit status."""

    exit_code = 1


class UsageError(ParetokenError):
    exit_code = 2


class MissingExtraError(ParetokenError):
    def __init__(self, what: str, extra: str) -> None:
        extras = ",".join(dict.fromkeys(("local", "report", extra)))
        super().__init__(f"{what} needs the extra '{extra}': pip install '.[{extras}]' in the checkout")
        self.extra = extra


class ModelError(ParetokenError):
    pass


class EngineError(ParetokenError):
    pass


class EndpointError(ParetokenError):
    pass


class CaptureError(ParetokenError):
    pass


class DiskError(ParetokenError):
    pass


class InvalidMeasurement(ParetokenError):
    exit_code = 3


def fix_of(error: OSError, another_place: str) -> str:
    """What to do about a file that cannot be written; `another_place` says how to name one."""
    known = _HELP.get(error.errno or 0)
    return another_place if known is None else f"{known}, or {another_place}"


@contextmanager
def writing(path: Path, another_place: str = ANOTHER_HOME) -> Iterator[None]:
    """What the system refuses inside, as a DiskError about `path`: a failed write itself names no file."""
    try:
        yield
    except OSError as error:
        raise DiskError(
            f"'{path}' cannot be written: {error.strerror or error}; {fix_of(error, another_place)}"
        ) from error
