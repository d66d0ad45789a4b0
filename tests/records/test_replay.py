"""What FILE may be, and what a run is measured as."""

import zlib
from pathlib import Path
from typing import Any

import pytest

from paretoken.errors import CaptureError
from paretoken.records.capture import READ, READ_LENGTH, STARTED, CaptureWriter, Frame
from paretoken.records.read import records_of
from paretoken.records.replay import replayed
from paretoken.records.store import RunDir, Store
from paretoken.records.ulid import new_ulid
from tests.records.frames import ZERO_NS, answered, frame, run_frame, schedule

FRAMES = [
    run_frame(ended_ns=ZERO_NS + 2_000_000_000, mono_zero_ns=0, mono_ended_ns=2_000_000_000),
    *answered(0, at_ms=100),
    frame(STARTED, 1, 200),
]


def fill(run: RunDir, frames: list[Frame], plan: dict[str, Any] | None = None) -> RunDir:
    run.write_schedule(plan or schedule(2))
    with CaptureWriter(run.path / "capture.bin") as writer:
        for item in frames:
            writer.append(item.kind, item.request_id, item.t_ns, item.data)
    return run


def test_a_run_by_its_id_and_by_its_capture_open_and_closed(tmp_path: Path) -> None:
    run = fill(Store(tmp_path).new_run(), FRAMES)
    by_id = replayed(run.id, tmp_path)
    assert by_id == replayed(str(run.path / "capture.bin"), tmp_path / "elsewhere")
    run.close(records_of(schedule(2), FRAMES, "openai-chat-sse"))
    assert by_id == replayed(run.id, tmp_path)
    assert by_id == replayed(str(run.path / "capture.bin.z"), tmp_path / "elsewhere")


def test_what_a_run_is_measured_as(tmp_path: Path) -> None:
    run = fill(Store(tmp_path).new_run(), FRAMES)
    answer = replayed(run.id, tmp_path)
    assert (answer["run"], answer["clock"], answer["clock_step_ms"]) == (run.id, "kernel", 0.0)
    first, second = answer["requests"]
    expected = {
        "request_id": 0,
        "warmup": True,
        "outcome": "ok",
        "due_ms": 100.0,
        "started_ms": 100.25,
        "sent_ms": 101.5,
        "lateness_ms": 0.25,
        "connect_ms": 0.75,
        "connection_reused": False,
        "ttft_from_due_ms": 20.0,
        "ttft_ms": 18.5,
        "ttfa_ms": 18.5,
        "e2e_ms": 38.5,
        "tpot_ms": 10.0,
        "itl_ms": [10.0],
        "itl_per_token_ms": None,
        "n_chunks": 2,
        "output_tokens": 2,
        "text": "Salt lake",
        "ok": True,
        "error": None,
    }
    assert {name: first[name] for name in expected} == expected
    assert (second["outcome"], second["ok"], second["error"], second["ttft_ms"]) == ("lost", False, "lost", None)


def test_a_capture_elsewhere_is_called_by_its_path(tmp_path: Path) -> None:
    run = fill(RunDir(tmp_path), FRAMES)
    path = str(run.path / "capture.bin")
    answer = replayed(path, tmp_path)
    assert answer["run"] == path
    assert answer["clock"] == "kernel"


def test_what_is_nothing_of_ours_gives_one_sentence(tmp_path: Path) -> None:
    junk = tmp_path / "junk"
    junk.write_bytes(b"\x00" * 100)
    for name in (str(junk), str(tmp_path / "missing"), str(tmp_path), new_ulid(), "../x", "", "\0"):
        with pytest.raises(CaptureError) as refusal:
            replayed(name, tmp_path)
        assert "\n" not in str(refusal.value)


def test_a_capture_without_its_schedule_or_with_a_broken_one(tmp_path: Path) -> None:
    run = fill(RunDir(tmp_path), FRAMES)
    for text in (
        None,
        "{",
        "{}",
        '{"schema":1}',
        '{"schema":1,"protocol":"telnet","requests":[],"arrivals":{"mode":"x"}}',
    ):
        run.schedule_path.unlink(missing_ok=True)
        if text is not None:
            run.schedule_path.write_text(text)
        with pytest.raises(CaptureError):
            replayed(str(run.path / "capture.bin"), tmp_path)


def test_bytes_that_nobody_has_give_one_sentence(tmp_path: Path) -> None:
    stripped = [Frame(f.request_id, READ_LENGTH, f.t_ns, b"\1\0\0\0") if f.kind == READ else f for f in FRAMES]
    run = fill(RunDir(tmp_path), stripped)
    with pytest.raises(CaptureError, match=r"records\.jsonl"):
        replayed(str(run.path / "capture.bin"), tmp_path)
    run.write_records(records_of(schedule(2), FRAMES, "openai-chat-sse")[1:])
    with pytest.raises(CaptureError, match="request 0"):
        replayed(str(run.path / "capture.bin"), tmp_path)


def test_a_capture_that_is_damaged_in_the_middle(tmp_path: Path) -> None:
    run = fill(RunDir(tmp_path), FRAMES)
    data = (run.path / "capture.bin").read_bytes()
    for damaged in (data[:30] + b"\xff" * 30 + data[60:], zlib.compress(data)[:-9]):
        (run.path / "capture.bin").write_bytes(damaged)
        with pytest.raises(CaptureError):
            replayed(str(run.path / "capture.bin"), tmp_path)
