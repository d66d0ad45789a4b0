"""Case files, broken ones too."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paretoken.errors import CaptureError
from paretoken.records.case import case_reply

READS = [[40, 'data: {"choices":[{"delta":{"content":"é"},"finish_reason":"stop"}]}\n\n'], [50, "data: [DONE]\n\n"]]
INPUT = {"protocol": "openai-chat-sse", "http": {"status": 200, "content_type": "text/event-stream"}, "reads": READS}


def write(folder: Path, value: Any) -> Path:
    path = folder / "case.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_characters_are_bytes_and_times_are_milliseconds_after_sending(tmp_path: Path) -> None:
    reply = case_reply(write(tmp_path, {"input": {**INPUT, "end": {"t_ms": 60, "how": "eof"}}}))
    assert (reply.text, reply.chunk_at, reply.done_at) == ("�", (0.04,), 0.05)


def test_what_a_case_may_leave_out(tmp_path: Path) -> None:
    reads = [[40, READS[0][1][:-1]]]  # type: ignore[index]
    reply = case_reply(write(tmp_path, {"input": {"protocol": "openai-chat-sse", "reads": reads}}))
    assert (reply.ok, reply.chunk_at) == (True, (0.04,))
    unanswered: dict[str, Any] = {
        "protocol": "openai-chat-sse",
        "reads": [],
        "http": None,
        "end": {"t_ms": 5, "how": "refused"},
    }
    assert case_reply(write(tmp_path, {"input": unanswered})).error == "refused"


@pytest.mark.parametrize(
    "value",
    [
        "",
        "{",
        "[" * 100_000,
        [],
        {},
        {"input": {}},
        {"input": {"targets": ["http://h"]}},
        {"input": {**INPUT, "protocol": "telnet"}},
        {"input": {**INPUT, "protocol": 7}},
        {"input": {**INPUT, "reads": [["soon", "x"]]}},
        {"input": {**INPUT, "reads": [[1]]}},
        {"input": {**INPUT, "reads": [[1, "☃"]]}},
        {"input": {**INPUT, "reads": "x"}},
        {"input": {**INPUT, "end": {"t_ms": 1, "how": "abduction"}}},
        {"input": {**INPUT, "http": {"status": "200"}}},
    ],
)
def test_what_is_no_case_gives_one_sentence(tmp_path: Path, value: Any) -> None:
    with pytest.raises(CaptureError) as refusal:
        case_reply(write(tmp_path, value))
    assert "case.json" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_file_too_large_to_be_a_case_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paretoken.records.case.CASE_LIMIT", 10)
    with pytest.raises(CaptureError, match="larger than"):
        case_reply(write(tmp_path, {"input": INPUT}))


@given(st.binary(max_size=100))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_give_one_sentence(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "case.json"
    path.write_bytes(data)
    with pytest.raises(CaptureError):
        case_reply(path)
