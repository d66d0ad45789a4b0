"""The file that a verb shall also write its document to: checked first, written whole."""

import json
import os
from pathlib import Path
from typing import Any

from paretoken.errors import UsageError


def checked_output(path: Path | None) -> None:
    """Raises UsageError, before anything is sent, when the file could not be written at the end."""
    if path is None:
        return
    if path.is_dir():
        raise UsageError(f"--output '{path}' is a folder; name a file")
    if not path.parent.is_dir():
        raise UsageError(f"--output '{path}' cannot be written: there is no folder '{path.parent}'; create it first")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"--output '{path}' cannot be written: no permission; name another file")


def write_output(path: Path | None, document: dict[str, Any]) -> None:
    """Atomic: the file is whole or not there."""
    if path is None:
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise UsageError(f"--output '{path}' cannot be written: {error.strerror}") from error
