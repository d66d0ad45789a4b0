"""What a long verb says while it works: lines that stay, and one line of progress that is overwritten.

The verbs of this package speak through this interface and never print; the command line shows it on stderr.
"""

from typing import Protocol


class Talk(Protocol):
    def line(self, text: str) -> None:
        """A line that stays."""

    def progress(self, text: str) -> None:
        """The current state, at most once a second; the next call replaces it. '' removes it."""

    def raw(self, text: str) -> None:
        """Text as it comes, without a newline (a streamed answer)."""


class Silent:
    """Says nothing: the default of the Python interface."""

    def line(self, text: str) -> None:
        pass

    def progress(self, text: str) -> None:
        pass

    def raw(self, text: str) -> None:
        pass
