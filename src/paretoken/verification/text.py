"""The text that models are teacher-forced on: the bundled books, or a file of the user's, as documents.

Enters a number of positions and perhaps a path; leaves documents (name, kind, text) and how many positions to take
from each. A document is the unit of the bootstrap, so the positions are spread over as many of them as make sense.
"""

import codecs
import stat
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from paretoken.errors import UsageError

# Shorter windows would judge mostly the first tokens of a text; longer ones leave few documents to resample.
FEWEST_PER_DOCUMENT = 32
MOST_PER_DOCUMENT = 255

# A piece of a user's file: about as many characters as MOST_PER_DOCUMENT tokens of English need, with room to spare.
_PIECE_CHARACTERS = 1400
_FILE_BYTES = 1 << 20
_FEWEST_PIECES = 8


@dataclass(frozen=True, slots=True)
class Document:
    name: str
    kind: str  # dialogue | prose | text
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """`window_positions` are taken from the start of each document; `source` says whose text it is."""

    source: str
    documents: tuple[Document, ...]
    window_positions: int


def bundled(positions: int = 4096) -> Text:
    """Excerpts of public-domain books (texts/SOURCES.md), mixed so that any part is a mixture; as they stand, all."""
    folder = files("paretoken.verification").joinpath("texts")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".txt"))
    mixed = [name for start in range(5) for name in names[start::5]]
    documents = [
        Document(name.removesuffix(".txt"), name.partition("-")[0], folder.joinpath(name).read_text(encoding="utf-8"))
        for name in mixed
    ]
    return _spread("bundled public-domain books", documents, positions)


def from_file(path: str, positions: int) -> Text:
    """A user's text in pieces of about a page, from the file's first mebibyte.

    Raises UsageError when it cannot be read, is no text, or is too short to judge by."""
    text = _read_text(path)
    pieces = _pieces(text)
    if len(pieces) < _FEWEST_PIECES:
        need = _FEWEST_PIECES * _PIECE_CHARACTERS
        raise UsageError(f"the text {_named(path)} has {len(text)} characters; give at least {need} for an interval")
    return _spread("the user's file", [Document(f"piece-{i}", "text", p) for i, p in enumerate(pieces)], positions)


def _read_text(path: str) -> str:
    """A pipe or a device could block or never end, so what it is is looked at before it is opened."""
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise UsageError(f"the text {_named(path)} is not a regular file; name a text file")
        with Path(path).open("rb") as file:
            data = file.read(_FILE_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read the text {_named(path)}: {error.strerror}; check the path") from error
    except ValueError as error:  # a path with a NUL, or with half of a surrogate pair
        raise UsageError(f"the text {_named(path)} has a name that no file can have; name a text file") from error
    try:
        # Incremental: a character that the limit cuts in two is left out, and is no fault of the file.
        text = codecs.getincrementaldecoder("utf-8")().decode(data, final=len(data) < _FILE_BYTES)
    except UnicodeDecodeError as error:
        raise UsageError(
            f"the text {_named(path)} is not UTF-8 (byte {error.start}); name a UTF-8 text file"
        ) from error
    if "\0" in text:
        raise UsageError(f"the text {_named(path)} holds NUL bytes, so it is no text; name a UTF-8 text file")
    return text


def _named(path: str) -> str:
    """A path for a sentence: one short line."""
    return repr(path if len(path) <= 200 else f"{path[:199]}…")


def _spread(source: str, documents: list[Document], positions: int) -> Text:
    """As many documents as give each at least FEWEST_PER_DOCUMENT positions, evenly filled."""
    if positions < FEWEST_PER_DOCUMENT:
        raise UsageError(f"{positions} positions are too few; give at least {FEWEST_PER_DOCUMENT}")
    count = min(len(documents), max(1, positions // FEWEST_PER_DOCUMENT))
    each = min(MOST_PER_DOCUMENT, -(-positions // count))
    return Text(source, tuple(documents[:count]), each)


def _pieces(text: str) -> list[str]:
    """Consecutive pieces cut at white space; what is left over at the end is dropped."""
    pieces = []
    start = 0
    while len(text) - start >= _PIECE_CHARACTERS:
        end = start + _PIECE_CHARACTERS
        cut = max(text.rfind(" ", start, end), text.rfind("\n", start, end))
        end = cut if cut > start + _PIECE_CHARACTERS // 2 else end
        pieces.append(text[start:end].strip())
        start = end
    return [piece for piece in pieces if piece]
