"""Text from servers, made fit to be stored and shown. What it means is none of its business."""

_SHOWN = 300  # characters of a server's message that are kept


def well_formed(text: str) -> str:
    """Text that can be encoded: halves of a surrogate pair that meet become their character, lone ones U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def printable(text: str, limit: int = _SHOWN) -> str:
    """One short line without control characters: a server's message may end up in a terminal."""
    words = "".join(character if character.isprintable() else " " for character in text[: 4 * limit]).split()
    line = " ".join(words)
    return well_formed(line if len(line) <= limit else line[: limit - 1] + "…")
