"""Text from servers, made fit to be stored and shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoken.wire.text import printable, well_formed

ANY_TEXT = st.text(st.characters(codec=None, categories=None))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("plain", "plain"), ("é", "é"), ("\ud83d\ude00", "😀"), ("a\ud83d", "a�"), ("\ude00b", "�b")],
)
def test_known_texts(text: str, expected: str) -> None:
    assert well_formed(text) == expected


@given(ANY_TEXT)
def test_what_is_kept_can_be_encoded(text: str) -> None:
    well_formed(text).encode()
    line = printable(text)
    line.encode()
    assert len(line) <= 300
    assert all(character.isprintable() for character in line)
