"""The last look at what goes to a terminal: no control characters of anybody else's, and not without end.

Enters any text; leaves text that cannot move a cursor. What it says is not judged.
"""

_SENTENCE = 2_000  # characters
_LINE, _LINES = 500, 60  # of a log's tail
_NEXT = "\n  "  # how a log's tail follows its sentence (engines/supervisor.with_tail)


def escaped(text: str) -> str:
    """Control characters, lone surrogates and the like as Python writes them."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def for_terminal(message: str) -> str:
    """An error's sentence and the log lines below it."""
    sentence, *tail = message.split(_NEXT)
    return _NEXT.join([cut(escaped(sentence), _SENTENCE), *(cut(escaped(line), _LINE) for line in tail[-_LINES:])])
