"""Record ↔ JSONL: exact both ways; broken lines are named."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoken.core.record import Record, Reply, ToolCall
from paretoken.errors import CaptureError
from paretoken.records.capture import STARTED
from paretoken.records.read import records_of
from paretoken.records.schema import records_from_jsonl, records_jsonl
from tests.records.frames import answered, frame, run_frame, schedule

FRAMES = [run_frame(), *answered(0, 1234.567891), *answered(1, 77777.7), frame(STARTED, 2, 5)]
RECORDS = records_of(schedule(3), FRAMES, "openai-chat-sse")


def test_records_come_back_equal() -> None:
    assert records_from_jsonl(records_jsonl(RECORDS)) == RECORDS


NS = st.integers(0, 10**15).map(lambda ns: ns / 10**9)  # up to eleven days, by the nanosecond


@given(st.lists(NS, min_size=1, max_size=5), NS, st.text(), st.none() | st.integers(0, 2**53))
def test_moments_survive_by_the_nanosecond(moments: list[float], at: float, text: str, tokens: int | None) -> None:
    reply = Reply(
        error=None,
        status=200,
        chunk_at=tuple(moments),
        done_at=at,
        first_answer_at=at,
        output_tokens=tokens,
        text=text,
        tool_calls=(ToolCall("a", text, "{}"),),
        warnings=("no_done_marker",),
        server_timings={"prompt_ms": at},
    )
    record = replace(RECORDS[0], due_at=at, sent_at=at, connect_s=at, reply=reply)
    assert records_from_jsonl(records_jsonl([record])) == [record]


def test_a_line_names_its_units_and_its_schema_and_holds_nothing_derived() -> None:
    line = json.loads(records_jsonl(RECORDS[:1]))
    assert line["schema"] == 1
    assert (line["due_ms"], line["started_ms"]) == (1234.567891, 1234.817891)
    assert line["chunk_ms"] == [1254.567891, 1264.567891]
    assert not {"ttft_ms", "e2e_ms", "tpot_ms", "itl_ms"} & line.keys()


def test_a_torn_last_line_is_dropped() -> None:
    data = records_jsonl(RECORDS)
    for cut in (1, 20, 100):
        assert records_from_jsonl(data[:-cut]) == RECORDS[:-1]
    assert records_from_jsonl(b"") == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("schema", 2),
        ("outcome", "splendid"),
        ("error", "unheard_of"),
        ("chunk_ms", "soon"),
        ("chunk_tokens", [1]),
        ("chunk_tokens", [1, 10**15]),  # the per-token list would be as long
        ("chunk_tokens", [1, -1]),
        ("due_ms", None),
        ("text", 5),
        ("server_timings", {"a": "b"}),
    ],
)
def test_a_broken_line_is_named(name: str, value: object) -> None:
    line = json.loads(records_jsonl(RECORDS[:1]))
    data = records_jsonl(RECORDS[:1]) + json.dumps({**line, name: value}).encode() + b"\n"
    with pytest.raises(CaptureError, match="line 2"):
        records_from_jsonl(data)


@given(st.binary(max_size=50))
def test_any_bytes_are_records_or_a_sentence(data: bytes) -> None:
    try:
        assert all(isinstance(record, Record) for record in records_from_jsonl(data))
    except CaptureError:
        pass
