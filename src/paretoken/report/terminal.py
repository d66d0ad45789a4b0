"""The last screen of a search: at most twelve plain lines of at most a hundred characters.

Enters a result document; leaves lines without colour or boxes, fit for a log file. Where there are more facts than
lines, those that can be spared are left out; facts that do not fit in their line lose their last clauses, the least
important first; a path or a command is never cut.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from paretoken.report.choice import serve_command
from paretoken.report.fact import Fact
from paretoken.report.figures import plain, shorten
from paretoken.report.reading import Reading
from paretoken.report.story import INVALID, ending, facts, recommendation

MAX_LINES = 12
MAX_CHARS = 100
_INDENT = "  "


def last_screen(result: Mapping[str, Any], *, report_path: str | None = "") -> list[str]:
    """The result of `optimize` (its JSON document) as the lines that end the command.

    `report_path` is where the page lies for this user: "" shows the document's own path, relative to the home; None
    says that there is no page.
    """
    reading = Reading(result)
    own = plain(reading.result.get("report") or "")
    last = _where(reading, own if report_path == "" else report_path)
    return [*lines_of([recommendation(reading), *facts(reading)], MAX_LINES - len(last)), *last]


def _where(reading: Reading, path: str | None) -> list[str]:
    """Where the report lies, and how to serve what was recommended. Both are for copying: whole, whatever the width."""
    serve = serve_command(reading)
    lines = [f"Report: {path}"] if path else []
    if serve and reading.recommended is not None and ending(reading) != INVALID:
        lines.append(f"Serve it: {serve}")
    return lines


def lines_of(found: Sequence[Fact], room: int) -> list[str]:
    """One line a fact; lines that are left over carry what did not fit, for the first facts first."""
    shown = _kept(found, room)
    spare = room - len(shown)
    lines: list[str] = []
    for fact in shown:
        line, rest = _fill(f"{fact.head}: ", fact.clauses)
        lines.append(line)
        if rest and spare > 0:
            lines.append(_fill(_INDENT, rest)[0])
            spare -= 1
    return lines


def _kept(found: Sequence[Fact], room: int) -> list[Fact]:
    """As many as there is room for: what can be spared goes first, and of the rest the last."""
    kept = list(found)
    while len(kept) > room:
        kept.remove(max(reversed(kept), key=lambda fact: fact.spare))
    return kept


def _fill(start: str, clauses: Sequence[str]) -> tuple[str, Sequence[str]]:
    """As many whole clauses as fit into one line, and those that did not; the first is cut rather than left out."""
    line = shorten(start + clauses[0], MAX_CHARS)
    for used, clause in enumerate(clauses[1:], start=1):
        longer = f"{line}; {clause}"
        if len(longer) > MAX_CHARS:
            return line, clauses[used:]
        line = longer
    return line, ()
