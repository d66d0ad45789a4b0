from pathlib import Path

from paretoken.models.shown import plain, shown


def test_control_characters_are_replaced_line_ends_too() -> None:
    assert plain("a\r\tb\n\x1b\u2028") == "a\ufffd\ufffdb\ufffd\ufffd\ufffd"


def test_long_text_keeps_both_ends() -> None:
    text = shown(Path("/start/" + "x" * 10_000 + "/end.gguf"))
    assert text.startswith("/start/") and text.endswith("/end.gguf")
    assert len(text) == 201
    assert shown("short") == "short"
