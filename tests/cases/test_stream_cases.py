"""The stream cases: what is read from each response, as given and byte by byte, in Python and by the command."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from paretoken.cli.replay import replay
from paretoken.records.replay_json import reply_json
from paretoken.wire.read import read_reply

CASES = [json.loads(path.read_text()) for path in sorted(Path(__file__).parent.glob("*.json"))]
STREAM_CASES = [case for case in CASES if "reads" in case["input"]]

each_case = pytest.mark.parametrize("case", STREAM_CASES, ids=[case["id"] for case in STREAM_CASES])


def by_byte(case: dict[str, Any]) -> dict[str, Any]:
    """The same case with one byte per read; every byte of a read has that read's time."""
    reads = [[t_ms, character] for t_ms, text in case["input"]["reads"] for character in text]
    return {**case, "input": {**case["input"], "reads": reads}}


def answer_of(case: dict[str, Any]) -> dict[str, Any]:
    given = case["input"]
    reads = [(t_ms / 1000, text.encode("latin-1")) for t_ms, text in given["reads"]]
    http, end = given["http"], given["end"]
    return reply_json(
        read_reply(given["protocol"], http["status"], http["content_type"], reads, (end["t_ms"] / 1000, end["how"]))
    )


def answer_of_command(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    file = folder / "case.json"
    file.write_text(json.dumps(case))
    done = CliRunner().invoke(replay, [str(file), "--json"], obj={"home": folder / "home"}, catch_exceptions=False)
    assert done.exit_code == 0
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def check(answer: dict[str, Any], expect: dict[str, Any], warnings: bool) -> None:
    for name, value in expect.items():
        if name == "warnings":
            assert not warnings or set(value) <= set(answer["warnings"])
        elif isinstance(value[0] if isinstance(value, list) and value else value, float):
            assert answer[name] == pytest.approx(value, abs=1e-6), name
        else:
            assert answer[name] == value, name


def test_the_stream_cases_are_all_there() -> None:
    kinds = {"stream parsing", "timing semantics", "token counting"}
    assert {case["id"] for case in CASES if case["kind"] in kinds} <= {case["id"] for case in STREAM_CASES}
    assert len(STREAM_CASES) >= 31


@each_case
def test_as_given(case: dict[str, Any]) -> None:
    check(answer_of(case), case["expect"], warnings=True)


@each_case
def test_with_one_byte_per_read(case: dict[str, Any]) -> None:
    check(answer_of(by_byte(case)), case["expect"], warnings=False)


@each_case
def test_by_the_command(case: dict[str, Any], tmp_path: Path) -> None:
    check(answer_of_command(case, tmp_path), case["expect"], warnings=True)


@each_case
def test_by_the_command_with_one_byte_per_read(case: dict[str, Any], tmp_path: Path) -> None:
    check(answer_of_command(by_byte(case), tmp_path), case["expect"], warnings=False)


@each_case
def test_no_warning_is_made_up(case: dict[str, Any]) -> None:
    """A case that names its warnings has at most those and the ones about usage and malformed events, which stand in
    other keys of `expect`."""
    expect = case["expect"]
    stated = {"usage_missing"} if expect.get("output_tokens", 0) is None else set()
    stated |= {"malformed_events"} if expect.get("n_malformed") else set()
    assert set(answer_of(case)["warnings"]) <= set(expect.get("warnings", [])) | stated
