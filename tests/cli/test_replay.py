"""`paretoken replay`: JSON and table, and text from a server that must not reach the terminal as it is."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from paretoken.cli.replay import replay
from paretoken.errors import CaptureError
from paretoken.records.capture import CaptureWriter
from paretoken.records.store import Store
from tests.records.frames import answered, run_frame, schedule

HOSTILE = 'data: {"choices":[{"delta":{"content":"\\u001b[2Jé"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def called(*arguments: str, home: Path) -> Result:
    return CliRunner().invoke(replay, arguments, obj={"home": home})


def case_file(folder: Path) -> str:
    path = folder / "case.json"
    path.write_text(json.dumps({"input": {"protocol": "openai-chat-sse", "reads": [[40, HOSTILE]]}}))
    return str(path)


def run_id(home: Path) -> str:
    run = Store(home).new_run()
    run.write_schedule(schedule(1))
    with CaptureWriter(run.capture_path) as writer:
        for item in [run_frame(), *answered(0)]:
            writer.append(item.kind, item.request_id, item.t_ns, item.data)
    return run.id


def test_a_case_as_json_is_one_ascii_document(tmp_path: Path) -> None:
    done = called(case_file(tmp_path), "--json", home=tmp_path)
    assert done.exit_code == 0
    assert done.stdout.isascii()
    assert json.loads(done.stdout)["ttft_ms"] == 40.0


def test_a_case_as_text_shows_no_control_character(tmp_path: Path) -> None:
    done = called(case_file(tmp_path), home=tmp_path)
    assert "\x1b" not in done.stdout
    assert "ttft_ms            40.0" in done.stdout
    assert '"\\u001b[2J' in done.stdout


def test_a_run_as_json_and_as_a_table(tmp_path: Path) -> None:
    name = run_id(tmp_path)
    answer = json.loads(called(name, "--json", home=tmp_path).stdout)
    assert (answer["run"], len(answer["requests"])) == (name, 1)
    header, row = called(name, home=tmp_path).stdout.splitlines()
    assert header.split()[:3] == ["request_id", "outcome", "error"]
    assert row.split() == ["0", "ok", "-", "20.0", "18.5", "10.0", "38.5", "2"]


@pytest.mark.parametrize("name", ["missing.json", "../..", "01ARZ3NDEKTSV4RRFFQ69G5FAV"])
def test_bad_input_is_a_users_error(tmp_path: Path, name: str) -> None:
    done = called(name, "--json", home=tmp_path)
    assert isinstance(done.exception, CaptureError)
    assert done.exception.exit_code == 1
    assert done.stdout == ""
