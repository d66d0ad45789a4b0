"""Cases that need a whole command, a whole study or a whole trial: search, security, reports; on engines of ours."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from paretoken.core.candidate import Candidate, Model
from paretoken.core.objective import Load, Objective
from paretoken.core.trial import Trial
from paretoken.engines.null import Null, NullSettings
from paretoken.engines.script import Script, ScriptedSettings
from paretoken.engines.scripted import Scripted
from paretoken.errors import UsageError
from paretoken.records.store import Store
from paretoken.report.sheet import candidates_csv, requests_csv
from paretoken.study.bench import Bench
from paretoken.study.file import STUDY_FILE, StudyFile
from paretoken.study.steps import Steps
from tests.made import record
from tests.report.sample import STUDY, sample

COMMAND = [sys.executable, "-m", "paretoken"]


def case(name: str) -> tuple[Any, Any]:
    found = json.loads((Path(__file__).parent / f"{name}.json").read_text())
    return found["input"], found["expect"]


def cli(home: Path, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "--home", str(home), *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **(env or {})},
    )


def model(digit: str) -> Model:
    return Model("m", "m.gguf", digit * 64, 1)


def steps_at(home: Path) -> Steps:
    objective = Objective(Load(concurrency=2), output_tokens=3)
    return Steps(Bench.at(home, "scripted"), StudyFile(home / "studies" / "S"), objective, seed=0, price=None)


def test_sr_crash_keeps_results(tmp_path: Path) -> None:
    given, expect = case("sr-crash-keeps-results")
    assert "SIGSEGV" in given["trial_3"]
    segv = {"die_at_request": 4, "death": "segv"}
    candidates = [
        Candidate(str(number), "scripted", model(str(number)), segv if number == 3 else {})
        for number in range(1, given["trials"] + 1)
    ]
    path = tmp_path / "studies" / "S" / STUDY_FILE

    def study() -> list[Trial]:
        steps, trials = steps_at(tmp_path), []
        for candidate in candidates:
            trials.append(steps.screen_speed(candidate, requests=6))
            kept = [json.loads(line) for line in path.read_text().splitlines()]
            assert (len(kept) >= len(trials)) is expect["results_on_disk_after_each_trial"]
        return trials

    trials = study()
    assert sum(trial.complete for trial in trials) == expect["completed"]
    broken = [trial for trial in trials if not trial.complete]
    assert [trial.candidate.label for trial in broken] == expect["failed"]
    assert broken[0].state == "crashed" and "SIGSEGV" in str(broken[0].reason)
    before = Store(tmp_path).run_ids()
    assert study() == trials
    assert [run for run in Store(tmp_path).run_ids() if run not in before] == expect["resume_runs_only"]


def test_sr_cache_key(tmp_path: Path) -> None:
    given, expect = case("sr-cache-key")
    assert given["two_models_same_name_different_weights"] and given["two_passes_same_type_different_settings"]
    tried = [
        Candidate("c", "scripted", model("a"), {}),
        Candidate("c", "scripted", model("b"), {}),
        Candidate("c", "scripted", model("a"), {"slots": 2}),
    ]
    runs = [steps_at(tmp_path).screen_speed(candidate, requests=6).run_ids for candidate in tried]
    assert len(runs) - len(set(runs)) == expect["cache_hits"]


def test_st_all_failed_as_a_command(tmp_path: Path) -> None:
    given, expect = case("st-all-failed")
    (status,) = {answer["status"] for answer in given["records"]}
    count = len(given["records"])
    with Scripted().launch(None, ScriptedSettings(scripts=(Script(status=status),))) as running:
        # Prompts of one turn each: a second turn would not be asked after a first one that failed.
        words = ("--model", "m", "--requests", str(count), "--warmup", "0", "--input-tokens", "5", "--json")
        done = cli(tmp_path, "measure", running.base_url, *words, "--output", str(tmp_path / "result.json"))
    assert (done.returncode != 0) is expect["exit_code_nonzero"]

    def refuse(constant: str) -> Any:
        raise AssertionError(f"{constant} is not strict JSON")

    document = json.loads(done.stdout, parse_constant=refuse)
    assert (document == json.loads((tmp_path / "result.json").read_text())) is expect["summary_written"]
    assert document["errors"] == expect["errors"]
    assert document["metrics"]["ttft_ms"]["p50"] is expect["ttft_ms"]
    assert document["metrics"]["output_tok_s"]["value"] == expect["throughput_tok_per_s"]
    assert document["metrics"]["error_rate"]["value"] == expect["error_rate"]


# The reporter's names of what a result must say → where ours says it.
OUR_NAMES = {
    "metric_definitions": ("definitions",),
    "percentile_method": ("definitions", "percentiles"),
    "requests_ok": ("requests", "ok"),
    "requests_failed": ("requests", "failed"),
}


def test_ru_definitions_in_result(tmp_path: Path) -> None:
    _, expect = case("ru-definitions-in-result")
    with Null().launch(None, NullSettings()) as running:
        done = cli(tmp_path, "measure", running.base_url, "--requests", "4", "--output-tokens", "2", "--json")
    measured = json.loads(done.stdout)
    for name in expect["has_fields"]:
        found = measured
        for part in OUR_NAMES.get(name, ("provenance", name)):
            assert part in found, name
            found = found[part]
    # Of an endpoint that others run, its version and its threads are not known; that is said, not left out.
    unknown = [name for name in expect["has_fields"] if measured["provenance"].get(name, "") is None]
    assert unknown == ["engine_version", "threads"]
    assert all(measured["definitions"].values())


def test_se_csv_formula() -> None:
    given, expect = case("se-csv-formula")
    begins = tuple(expect["cell_does_not_start_with"])
    hostile = [given["model_text"], *(f"{start}1+1" for start in begins)]
    records = [
        record(number, due_at=1.0, sent_at=0.5, reply={"text": text, "finish_reason": text, "error_message": text})
        for number, text in enumerate(hostile)
    ]
    document = sample()
    for row, text in zip(document["candidates"], hostile, strict=False):
        row["label"] = text
    for table in (requests_csv(records, text=True), candidates_csv(document)):
        header, *rows = csv.reader(io.StringIO(table, newline=""))
        words = [cell for row in rows for cell in row if not _is_number(cell)]
        assert any(given["model_text"] in cell for cell in words)
        assert not any(cell.startswith(begins) for cell in (*header, *words))
    found = list(csv.DictReader(io.StringIO(requests_csv(records), newline="")))
    assert ({row["lateness_ms"] for row in found} == {"-500.0"}) is expect["numbers_untouched"]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("verb", ["measure", "trace", "optimize", "report"])
@pytest.mark.parametrize("joined", [False, True])
def test_se_key_never_stored_from_the_command_line(tmp_path: Path, verb: str, joined: bool) -> None:
    """Refused, and not repeated: there is no option for either."""
    given, expect = case("se-key-never-stored")
    words = given["args"]
    pairs = [words[at : at + 2] for at in range(0, len(words), 2)]
    for pair in (*pairs, ["-H", pairs[1][1]], ["--api-key-env", pairs[0][1]]):
        if pair[0] == "--api-key-env" and verb not in ("measure", "trace"):
            continue
        target = ["http://127.0.0.1:1"] if verb in ("measure", "trace") else []
        done = cli(tmp_path, verb, *target, *(["=".join(pair)] if joined and pair[0] != "-H" else pair))
        assert done.returncode == 2, done.stderr
        assert not any(secret in done.stdout + done.stderr for secret in expect["absent_everywhere"])
    assert list(tmp_path.iterdir()) == []


def test_se_key_never_stored_from_the_environment(tmp_path: Path) -> None:
    given, _ = case("se-key-never-stored")
    key = given["args"][1]
    output, home = tmp_path / "result.json", tmp_path / "home"
    (home / "studies" / STUDY).mkdir(parents=True)
    (home / "studies" / STUDY / "result.json").write_text(json.dumps(sample()))
    # The endpoint sends the key back in its answers, and refuses every second request.
    scripts = (Script(ttft_s=0.1, texts=(f"your key is {key}",)), Script(status=401))
    env, lines = {"OPENAI_API_KEY": key}, set()
    with Scripted().launch(None, ScriptedSettings(scripts=scripts)) as running:
        words = ("measure", running.base_url, "--model", "m", "--requests", "8", "--output", str(output), "--json")
        with subprocess.Popen(
            [*COMMAND, "--home", str(home), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **env},
        ) as child:
            while child.poll() is None:
                lines |= set(_command_lines())
            said = "".join(child.communicate())
    assert any(b"paretoken.load.child" in line for line in lines) or not Path("/proc/self").exists()
    assert not any(key.encode() in line for line in lines)
    (run,) = Store(home).run_ids()
    for shown in (["report", run], ["report", run, "--csv", str(tmp_path / "x.csv"), "--text"], ["replay", run]):
        done = cli(home, *shown, env=env)
        assert done.returncode == 0, done.stderr
        said += done.stdout + done.stderr
    page = cli(home, "report", STUDY, "--html", env=env)
    assert page.returncode == 0, page.stderr
    assert output.exists() and (home / "studies" / STUDY / "report.html").exists()
    assert key not in said + page.stdout + page.stderr
    assert not any(key.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def _command_lines() -> list[bytes]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes())
        except OSError:
            continue
    return found


def test_cf_output_checked_first(tmp_path: Path) -> None:
    given, expect = case("cf-output-checked-first")
    with Null().launch(None, NullSettings()) as running:
        done = cli(tmp_path, "measure", running.base_url, "--requests", "4", *given["args"])
    assert (done.returncode != 0) is expect["exit_code_nonzero"]
    assert len(Store(tmp_path).run_ids()) == expect["requests_sent"]
    assert given["args"][1] in done.stderr


def test_cf_unknown_key(tmp_path: Path) -> None:
    """Ours are engine settings: a key that is nearly one is refused, and the one that is near is named."""
    given, expect = case("cf-unknown-key")
    near, known = expect["message_contains"]
    assert known == given["known_key"] and known.startswith(near)
    bench = Bench.at(tmp_path, "scripted")
    with pytest.raises(UsageError, match=r"'slot'.*'slots'") as caught:
        bench.settings({"slot": 4})
    assert caught.value.exit_code == expect["exit_code"]
    done = cli(tmp_path, "measure", "http://127.0.0.1:1", "--concurrencey", "2")
    assert done.returncode == expect["exit_code"] and "--concurrency" in done.stderr
    assert len(Store(tmp_path).run_ids()) == expect["requests_sent"]
