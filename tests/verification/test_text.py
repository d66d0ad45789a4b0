import os
from importlib.resources import files
from pathlib import Path

import pytest

from paretoken.errors import UsageError
from paretoken.verification.text import bundled, from_file

TEXTS = files("paretoken.verification").joinpath("texts")


@pytest.mark.parametrize(("positions", "documents"), [(64, 2), (256, 8), (2048, 24), (6000, 24)])
def test_positions_are_spread_over_documents(positions: int, documents: int) -> None:
    text = bundled(positions)
    assert len(text.documents) == documents
    assert positions <= documents * text.window_positions < positions + documents


def test_a_small_part_is_a_mixture_too() -> None:
    small = bundled(256)
    assert {document.kind for document in small.documents} == {"dialogue", "prose"}
    assert len({document.name.rstrip("-0123456789") for document in small.documents}) >= 5


def test_documents_do_not_repeat_each_other() -> None:
    texts = [document.text for document in bundled().documents]
    for i, text in enumerate(texts):
        middle = text[len(text) // 2 :][:80]
        assert sum(middle in other for other in texts) == 1, i


def test_every_text_has_a_source_and_a_licence() -> None:
    sources = TEXTS.joinpath("SOURCES.md").read_text(encoding="utf-8")
    assert "public domain" in sources
    for document in bundled().documents:
        work = document.name.rstrip("-0123456789").partition("-")[2]
        assert work in sources, document.name
    everything = " ".join(document.text for document in bundled().documents)
    assert "Gutenberg" not in everything
    assert "\r" not in everything
    assert "�" not in everything


def test_a_users_file_is_cut_into_pieces(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("one two three four five six seven eight nine ten\n" * 400)
    text = from_file(str(path), 256)
    assert len(text.documents) == 8
    assert all(1000 < len(document.text) <= 1400 for document in text.documents)
    assert {document.kind for document in text.documents} == {"text"}
    assert text.documents[0].text.startswith("one two")
    assert not text.documents[1].text.startswith("ne")


def test_text_without_white_space_is_cut_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("字" * 20_000, encoding="utf-8")
    assert len(from_file(str(path), 10_000).documents) == 14


def test_what_is_too_short_or_not_there_is_refused(tmp_path: Path) -> None:
    short = tmp_path / "short.txt"
    short.write_text("too short")
    with pytest.raises(UsageError, match="at least 11200"):
        from_file(str(short), 256)
    with pytest.raises(UsageError, match="cannot read the text"):
        from_file(str(tmp_path / "none.txt"), 256)
    with pytest.raises(UsageError, match="at least 32"):
        bundled(31)


def test_a_pipe_or_a_device_is_refused_unopened(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (str(pipe), "/dev/zero", str(tmp_path), ""):
        with pytest.raises(UsageError, match="not a regular file"):
            from_file(path, 256)


@pytest.mark.parametrize(("data", "said"), [(b"\xff\xfe" * 9000, "not UTF-8"), (b"ab\0 " * 9000, "NUL bytes")])
def test_what_is_no_text_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "binary"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=said):
        from_file(str(path), 256)


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "\ud800"])
def test_a_name_that_no_file_can_have_is_one_short_sentence(name: str) -> None:
    with pytest.raises(UsageError) as refusal:
        from_file(name, 256)
    assert len(str(refusal.value)) < 400


def test_a_character_cut_by_the_limit_is_no_fault_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("x" + "字" * 400_000, encoding="utf-8")  # 3 bytes each, and the limit is no multiple
    assert len(from_file(str(path), 256).documents) == 8
