"""Text from files, paths and command lines, made fit for one line of a terminal. What it means is none of its business.

Control characters, line ends among them, could forge output or command the terminal; megabytes would bury a sentence.
"""

from pathlib import Path

_LONGEST = 200


def plain(text: str) -> str:
    """Text as one line without control characters, each replaced by U+FFFD."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def shown(text: str | Path) -> str:
    """The same, with its middle left out where it is long: a path is known by both its ends."""
    line = plain(str(text)[:_LONGEST] + str(text)[-_LONGEST:] if len(str(text)) > 2 * _LONGEST else str(text))
    half = _LONGEST // 2
    return line if len(line) <= _LONGEST else f"{line[:half]}…{line[-half:]}"
