"""A key that a server sends back does not stay on the disk."""

from pathlib import Path

from paretoken.core.record import ToolCall
from paretoken.records.secret import forget_key, without_key
from tests.made import record

KEY = "sk-SECRET123456"


def test_a_capture_forgets_the_key_and_keeps_its_length(tmp_path: Path) -> None:
    capture = tmp_path / "capture.bin"
    before = b"head " + KEY.encode() + b" middle " + KEY.encode()
    capture.write_bytes(before)
    forget_key(capture, KEY)
    after = capture.read_bytes()
    assert after == before.replace(KEY.encode(), b"*" * len(KEY))


def test_an_empty_capture_and_a_short_word_are_left_alone(tmp_path: Path) -> None:
    capture = tmp_path / "capture.bin"
    capture.write_bytes(b"")
    forget_key(capture, KEY)
    capture.write_bytes(b"a cat")
    forget_key(capture, "cat")
    assert capture.read_bytes() == b"a cat"
    assert without_key(record(reply={"text": "a cat"}), "cat").reply.text == "a cat"


def test_every_text_of_a_record_forgets_the_key() -> None:
    said = f"your key is {KEY}"
    found = without_key(
        record(
            reply={
                "text": said,
                "reasoning_text": said,
                "error_message": said,
                "finish_reason": said,
                "tool_calls": (ToolCall(said, said, said),),
            }
        ),
        KEY,
    )
    assert KEY not in repr(found)
    assert found.reply.text == f"your key is {'*' * len(KEY)}"
