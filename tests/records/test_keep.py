"""What a closed run keeps."""

import json
from pathlib import Path
from typing import Any

import pytest

from paretoken.core.record import Record
from paretoken.errors import DiskError
from paretoken.records.capture import END, READ, READ_LENGTH, STARTED, CaptureWriter, Frame, read_capture
from paretoken.records.keep import close_capture
from paretoken.records.read import records_of
from paretoken.records.reread import reread
from paretoken.records.store import RunDir
from tests.records.frames import HEAD, answered, chunked, event, frame, run_frame, schedule

COUNT = 202
FAILED = 150


def frames() -> list[Frame]:
    found = [run_frame()]
    for number in range(COUNT):
        if number == FAILED:
            cut = [frame(READ, number, 5, HEAD), frame(READ, number, 9, chunked(event("Half")))]
            found += [frame(STARTED, number, 0), *cut, frame(END, number, 9, b"reset")]
        else:
            found += answered(number)
    return found


def run_with(folder: Path, *, keep_text: bool = True) -> tuple[RunDir, list[Record]]:
    run = RunDir(folder)
    run.write_schedule(schedule(COUNT), keep_text=keep_text)
    with CaptureWriter(folder / "capture.bin") as writer:
        for item in frames():
            writer.append(item.kind, item.request_id, item.t_ns, item.data)
    return run, records_of(schedule(COUNT), frames(), "openai-chat-sse")


def total_bytes() -> int:
    return sum(len(item.data) for item in frames() if item.kind == READ)


def kept_ids(run: RunDir) -> set[int]:
    return {item.request_id for item in run.frames() if item.kind == READ}


def test_few_bytes_are_all_kept_compressed(tmp_path: Path) -> None:
    run, records = run_with(tmp_path)
    assert run.close(records) == {"bytes": total_bytes(), "bytes_kept_of": "all", "compressed": True}
    assert not (tmp_path / "capture.bin").exists()
    assert run.capture_path.stat().st_size < total_bytes() / 4
    assert list(run.frames()) == frames()
    assert list(reread(run).records) == records == run.records()


def test_many_bytes_are_kept_of_failures_and_of_one_percent_and_all_stamps(tmp_path: Path) -> None:
    run, records = run_with(tmp_path)
    run.write_records(records)
    said = close_capture(tmp_path, records, limit_bytes=total_bytes() - 1)
    assert said == {"bytes": total_bytes(), "bytes_kept_of": "failures and a 1 % sample", "compressed": True}
    assert kept_ids(run) == {0, 100, 200, FAILED}
    was, now = frames(), list(run.frames())
    assert [(f.request_id, f.t_ns) for f in now] == [(f.request_id, f.t_ns) for f in was]
    lengths = [int.from_bytes(f.data, "little") for f in now if f.kind == READ_LENGTH]
    assert sum(lengths) + sum(len(f.data) for f in now if f.kind == READ) == total_bytes()
    reading = reread(run)
    assert list(reading.records) == records  # where bytes are missing, as it was read then
    assert len(reading.bytes_missing) == COUNT - 4


def test_no_text_means_none_anywhere(tmp_path: Path) -> None:
    run, records = run_with(tmp_path, keep_text=False)
    said = run.close(records, keep_text=False)
    assert said["bytes_kept_of"] == "none"
    assert kept_ids(run) == set()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.suffix != ".z")
    for word in (b"Salt", b"lake", b"Half", b'{\\"p\\":1}'):
        assert word not in stored
    assert all(json.loads(run.schedule_path.read_text())["requests"][n]["body"] == "" for n in range(COUNT))
    again = reread(run).records
    assert [(r.outcome, r.reply.chunk_at, r.reply.output_tokens) for r in again] == [
        (r.outcome, r.reply.chunk_at, r.reply.output_tokens) for r in records
    ]
    assert {r.reply.text for r in again} == {""}


@pytest.mark.parametrize(("keep_text", "kept_of"), [(True, "all"), (False, "none")])
def test_a_full_disk_keeps_the_raw_capture_unless_text_must_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep_text: bool, kept_of: str
) -> None:
    run, records = run_with(tmp_path)

    def full(*_: Any) -> None:
        raise DiskError("No space left on device")

    monkeypatch.setattr("paretoken.records.keep._write_compressed", full)
    said = close_capture(tmp_path, records, keep_text=keep_text)
    assert (said["compressed"], said["bytes_kept_of"]) == (False, kept_of)
    assert "No space left" in said["reason"]
    assert (tmp_path / "capture.bin").exists() is keep_text
    if keep_text:
        assert list(read_capture(run.capture_path)) == frames()


def test_a_failed_compression_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, records = run_with(tmp_path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        assert close_capture(tmp_path, records)["compressed"] is False
    assert sorted(path.name for path in tmp_path.iterdir()) == ["capture.bin", "schedule.json"]
