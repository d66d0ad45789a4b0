"""A whole run from the parent: what comes back, what lies on disk, and how it ends when somebody ends it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from paretoken.errors import CaptureError, EndpointError
from paretoken.load.progress import Progress
from paretoken.load.run import run_load
from paretoken.load.schedule import ClosedLoop, OpenLoop, Schedule
from paretoken.records.store import RunDir
from tests.load.driving import planned, schedule
from tests.load.server import Server, Talk, streaming

SECRET = "sk-live-ABC123"


def test_a_closed_loop_of_four_streams(tmp_path: Path) -> None:
    with Server(streaming(tokens=5, gap_s=0.002)) as server:
        result = run_load(schedule(server.port, requests=12, arrivals=ClosedLoop(4)), tmp_path / "run")
    assert result.count == {"ok": 12, "failed": 0, "cancelled": 0, "lost": 0}
    assert (result.scheduled, result.interrupted, result.died) == (12, False, None)
    assert server.connections == 4
    assert result.clock == ("kernel" if sys.platform == "linux" else "user")
    assert result.clock_step_s == pytest.approx(0.0, abs=0.01)
    assert result.client_cpu_s is not None and result.client_cpu_s > 0
    assert result.client_cpu_share == pytest.approx(result.client_cpu_s / result.wall_s)
    run = RunDir(tmp_path / "run")
    assert run.records() == list(result.records)
    assert sorted(path.name for path in run.path.iterdir()) == ["capture.bin.z", "records.jsonl", "schedule.json"]
    assert result.captured["compressed"] is True


def test_a_directory_holds_one_run(tmp_path: Path) -> None:
    with Server(streaming()) as server:
        run_load(schedule(server.port, requests=1), tmp_path / "run")
        with pytest.raises(CaptureError, match="already holds a run"):
            run_load(schedule(server.port, requests=1), tmp_path / "run")
    assert len(server.talks) == 1


def test_an_open_loop_accounts_for_every_request(tmp_path: Path) -> None:
    def answer(talk: Talk) -> None:
        if talk.number % 3 == 2:
            talk.reset()
        else:
            streaming()(talk)

    moments = tuple(0.01 * number for number in range(12))
    with Server(answer) as server:
        result = run_load(schedule(server.port, requests=12, arrivals=OpenLoop(moments)), tmp_path / "run")
    assert sum(result.count.values()) == result.scheduled == 12
    assert [round(record.due_at, 6) for record in result.records] == [round(moment, 6) for moment in moments]
    assert all(record.lateness_s is not None and record.lateness_s >= 0 for record in result.records)


def test_the_key_is_sent_and_written_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_OF_KEYS", SECRET)
    arguments: list[bytes] = []

    def answer(talk: Talk) -> None:
        arguments.extend(path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists())
        streaming()(talk)

    with Server(answer) as server:
        run_load(schedule(server.port, requests=1, api_key_env="TEST_OF_KEYS"), tmp_path / "run")
    assert f"authorization: Bearer {SECRET}".encode() in server.talks[0].head
    assert any(b"paretoken.load.child" in line for line in arguments) or sys.platform != "linux"
    assert not any(SECRET.encode() in line for line in arguments)
    assert not any(SECRET.encode() in path.read_bytes() for path in (tmp_path / "run").iterdir())


def test_a_missing_key_stops_before_anything_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_OF_KEYS", raising=False)
    with Server(streaming()) as server, pytest.raises(EndpointError, match="TEST_OF_KEYS holds no key"):
        run_load(schedule(server.port, requests=1, api_key_env="TEST_OF_KEYS"), tmp_path / "run")
    assert server.talks == []


def test_an_unknown_host_is_one_sentence(tmp_path: Path) -> None:
    plan = schedule(80, requests=1)
    plan = msgspec.structs.replace(plan, endpoint=msgspec.structs.replace(plan.endpoint, host="no.such.host.invalid"))
    with pytest.raises(EndpointError, match=r"no\.such\.host\.invalid"):
        run_load(plan, tmp_path / "run")


def test_no_text_stays_on_disk_when_told_so(tmp_path: Path) -> None:
    with Server(streaming(tokens=3)) as server:
        plan = schedule(server.port, requests=(planned(0, body='{"messages":"private words"}'),))
        result = run_load(plan, tmp_path / "run", keep_text=False)
    assert result.records[0].reply.text == "w0 w1 w2 "
    files = [path.read_bytes() for path in (tmp_path / "run").iterdir()]
    assert not any(b"private words" in content or b"w1" in content for content in files)


def test_ctrl_c_keeps_what_there_is(tmp_path: Path) -> None:
    """The interrupt comes while the parent waits for a line of progress, as it does when somebody presses Ctrl-C."""

    def answer(talk: Talk) -> None:
        talk.wait(60.0 if talk.number >= 3 else 0.0)
        streaming()(talk)

    def press(progress: Progress) -> None:
        assert progress.ended == 3
        raise KeyboardInterrupt

    with Server(answer) as server:
        result = run_load(schedule(server.port, requests=8), tmp_path / "run", on_progress=press)
    assert result.interrupted
    assert result.count == {"ok": 3, "failed": 0, "cancelled": 5, "lost": 0}
    assert len(RunDir(tmp_path / "run").records()) == 8


def test_an_error_of_the_watcher_ends_the_child(tmp_path: Path) -> None:
    def fail(progress: Progress) -> None:
        raise RuntimeError("the watcher broke")

    with Server(hanging) as server:
        with pytest.raises(RuntimeError, match="watcher broke"):
            run_load(schedule(server.port, requests=1), tmp_path / "run", on_progress=fail)
        wait_until(lambda: server.in_flight == 1 and not children_of(tmp_path))


def hanging(talk: Talk) -> None:
    talk.hang()


PARENT = """
import sys, pathlib
from paretoken.load.run import run_load
from paretoken.load.schedule import schedule_from_json
result = run_load(schedule_from_json(pathlib.Path(sys.argv[1]).read_bytes()), pathlib.Path(sys.argv[2]))
print(result.interrupted, result.count, flush=True)
"""


def start_parent(tmp_path: Path, plan: Schedule) -> "subprocess.Popen[str]":
    (tmp_path / "plan.json").write_bytes(msgspec.json.encode(plan))
    arguments = [sys.executable, "-c", PARENT, str(tmp_path / "plan.json"), str(tmp_path / "run")]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def children_of(tmp_path: Path) -> list[int]:
    """The load processes of this test: those that have its directory among their arguments."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = place.read_bytes().split(b"\0")
            if b"paretoken.load.child" in words and str(tmp_path / "run" / "schedule.json").encode() in words:
                found.append(int(place.parent.name))
    return found


def wait_until(true: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@linux_only
def test_a_killed_parent_leaves_no_child(tmp_path: Path) -> None:
    with Server(hanging) as server:
        parent = start_parent(tmp_path, schedule(server.port, requests=3))
        wait_until(lambda: server.in_flight == 1)
        assert len(children_of(tmp_path)) == 1
        parent.kill()
        parent.communicate()
        wait_until(lambda: not children_of(tmp_path))
    assert RunDir(tmp_path / "run").capture_path.stat().st_size > 100


@linux_only
def test_sigint_of_the_parent_is_ctrl_c(tmp_path: Path) -> None:
    with Server(hanging) as server:
        parent = start_parent(tmp_path, schedule(server.port, requests=3))
        wait_until(lambda: server.in_flight == 1)
        parent.send_signal(signal.SIGINT)
        said, _ = parent.communicate(timeout=10)
        assert not children_of(tmp_path)
    assert said == "True {'ok': 0, 'failed': 0, 'cancelled': 3, 'lost': 0}\n"


@linux_only
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signalled_child_finishes_its_capture(tmp_path: Path, number: signal.Signals) -> None:
    with Server(hanging) as server:
        parent = start_parent(tmp_path, schedule(server.port, requests=3))
        wait_until(lambda: server.in_flight == 1)
        (child,) = children_of(tmp_path)
        os.kill(child, number)
        said, _ = parent.communicate(timeout=10)
    assert said == "True {'ok': 0, 'failed': 0, 'cancelled': 3, 'lost': 0}\n"


@linux_only
def test_what_a_killed_child_had_in_flight_is_lost_and_counted(tmp_path: Path) -> None:
    def answer(talk: Talk) -> None:
        talk.wait(0.0 if talk.number < 2 else 60.0)
        streaming()(talk)

    def kill(progress: Progress) -> None:
        (child,) = children_of(tmp_path)
        os.kill(child, signal.SIGKILL)

    with Server(answer) as server:
        result = run_load(schedule(server.port, requests=5), tmp_path / "run", on_progress=kill)
    assert result.died is not None and "-9" in result.died
    assert result.count == {"ok": 2, "failed": 0, "cancelled": 0, "lost": 3}
