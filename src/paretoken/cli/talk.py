"""Talk on stderr: plain lines, and one progress line that overwrites itself on a terminal."""

import sys
import time

import click

from paretoken.cli.sentence import escaped


class ConsoleTalk:
    """On a terminal the progress line is overwritten; elsewhere (a log file) it is left out, the lines stay."""

    def __init__(self) -> None:
        self._live = sys.stderr is not None and sys.stderr.isatty()
        self._shown = 0
        self._last_at = 0.0

    def line(self, text: str) -> None:
        self._clear()
        click.echo("\n".join(map(escaped, text.split("\n"))), err=True)

    def progress(self, text: str) -> None:
        now = time.monotonic()
        if not self._live or (text and now - self._last_at < 1.0):
            return
        self._last_at = now
        self._clear()
        if text:
            text = escaped(text[:100])
            click.echo(text, err=True, nl=False)
            self._shown = len(text)

    def raw(self, text: str) -> None:
        self._clear()
        click.echo(text, err=True, nl=False)

    def _clear(self) -> None:
        if self._shown:
            click.echo("\r" + " " * self._shown + "\r", err=True, nl=False)
            self._shown = 0
