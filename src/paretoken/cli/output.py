"""The file that a verb shall also write its document to: checked first, written whole, and nothing else replaced by it.

Enters a path as the user wrote it; leaves a regular file, or one sentence. A link is followed; a device, a pipe or a
socket is neither written nor replaced.
"""

import contextlib
import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import click

from paretoken.errors import UsageError, writing


def checked_output(path: Path | None) -> None:
    """Raises UsageError, before anything is sent, when the file could not be written at the end."""
    if path is not None:
        _target(path, "--output")


def write_output(path: Path | None, document: dict[str, Any]) -> None:
    """As `write_text`. Checked again: a measurement takes its time."""
    if path is not None:
        write_text(path, json.dumps(document, indent=2, allow_nan=False) + "\n")


def write_text(path: Path, text: str, option: str = "--output") -> None:
    """Atomic: the file is whole or as it was. `option` is what named it. Raises UsageError, DiskError."""
    target, mode = _target(path, option)
    partial = target.with_name(f".paretoken-{os.getpid()}.partial")  # short: a long name has no room for more
    with writing(path, f"name another file with {option}"):
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with contextlib.ExitStack() as undo:
            undo.callback(partial.unlink, missing_ok=True)
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
                file.write(text)
            if mode is not None:
                partial.chmod(mode)
            partial.replace(target)
            undo.pop_all()


def _target(path: Path, option: str) -> tuple[Path, int | None]:
    """The file itself behind any links, and its permissions where it is there already. Raises UsageError."""
    if path == Path():  # '' arrives as this, too
        raise UsageError(f"{option} names no file; name one")
    target = Path(os.path.realpath(path))
    try:
        found: int | None = path.stat().st_mode  # not of `target`: /dev/stdout is a link to no name at all
    except FileNotFoundError:
        found = None
    except OSError as error:
        raise UsageError(f"{option} '{path}' cannot be written: {error.strerror}; name another file") from error
    if found is not None and stat.S_ISDIR(found):
        raise UsageError(f"{option} '{path}' is a folder; name a file")
    if found is not None and not stat.S_ISREG(found):
        raise UsageError(f"{option} '{path}' is a device or pipe, not a file; --json prints to stdout")
    if found is not None and not target.exists():  # /dev/stdout of a file that was deleted
        raise UsageError(f"{option} '{path}' is not a file with a name; --json prints to stdout")
    if not target.parent.is_dir():
        raise UsageError(f"{option} '{path}' cannot be written: there is no folder '{target.parent}'; create it first")
    if not os.access(target.parent, os.W_OK) or (found is not None and not os.access(target, os.W_OK)):
        raise UsageError(f"{option} '{path}' cannot be written: no permission; name another file")
    return target, None if found is None else stat.S_IMODE(found)


def print_table(table: Any) -> None:
    """A table of rich to stdout. Not rich's own way out: it ends the process where the reader of a pipe has gone."""
    from rich.console import Console

    # Not a terminal: the width of the last screen, so that a log file reads as the terminal does.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 100)
    with console.capture() as captured:
        console.print(table)
    click.echo(captured.get(), nl=False)
