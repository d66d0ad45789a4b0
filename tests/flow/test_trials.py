"""A candidate that breaks is a trial's state: it neither raises nor vanishes, and the next trial runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from paretoken.core.candidate import Candidate, Model
from paretoken.core.objective import Load, Objective
from paretoken.core.trial import Trial
from paretoken.engines.script import Script
from paretoken.study.bench import Bench
from paretoken.study.file import StudyFile
from paretoken.study.steps import Steps

CASES = Path(__file__).parent.parent / "cases"
MODEL = Model("m", "m.gguf", "f" * 64, 1)


def steps_at(home: Path) -> Steps:
    objective = Objective(Load(concurrency=2), output_tokens=3)
    return Steps(Bench.at(home, "scripted"), StudyFile(home / "studies" / "S"), objective, seed=0, price=None)


def screened(home: Path, **settings: Any) -> Trial:
    return steps_at(home).screen_speed(Candidate("c", "scripted", MODEL, settings), requests=6)


def test_a_trial_that_completes_has_its_figures(tmp_path: Path) -> None:
    trial = screened(tmp_path)
    assert trial.state == "complete"
    assert trial.metrics["output_tok_s"]["value"] > 0


@pytest.mark.parametrize(("death", "state", "says"), [("segv", "crashed", "SIGSEGV"), ("oom", "infeasible", "memory")])
def test_an_engine_that_dies_in_the_middle(tmp_path: Path, death: str, state: str, says: str) -> None:
    trial = screened(tmp_path, die_at_request=4, death=death)
    assert trial.state == state
    assert trial.reason is not None and says in trial.reason
    assert not trial.complete
    assert screened(tmp_path).complete, "the next trial starts"


def test_fits_at_start_and_fails_under_load(tmp_path: Path) -> None:
    """Case sr-fits-at-start-fails-under-load."""
    expected = json.loads((CASES / "sr-fits-at-start-fails-under-load.json").read_text())["expect"]
    objective = Objective(Load(concurrency=20), output_tokens=3)
    steps = Steps(Bench.at(tmp_path, "scripted"), StudyFile(tmp_path / "S"), objective, seed=0, price=None)
    scripts = [Script(ttft_s=0.05).as_json()]
    weak = Candidate("weak", "scripted", MODEL, {"die_at_concurrent": 20, "death": "oom", "scripts": scripts})
    trial = steps.screen_speed(weak, requests=40)
    assert trial.state == expected["trial"]
    assert trial.reason is not None and expected["reason_contains"] in trial.reason
    following = steps.screen_speed(Candidate("fine", "scripted", MODEL, {}), requests=40)
    assert following.complete is expected["next_trial_started"]


def test_a_server_whose_requests_fail_is_infeasible_however_fast(tmp_path: Path) -> None:
    trial = screened(tmp_path, scripts=[Script(status=503).as_json()])
    assert trial.state == "infeasible"


def test_a_setting_that_does_not_exist_is_infeasible(tmp_path: Path) -> None:
    trial = screened(tmp_path, slotz=2)
    assert trial.state == "infeasible"
    assert trial.reason is not None and "slotz" in trial.reason


def test_a_stored_trial_is_not_run_again_and_another_model_is(tmp_path: Path) -> None:
    """Cases sr-crash-keeps-results and sr-cache-key."""
    first = screened(tmp_path)
    assert screened(tmp_path).run_ids == first.run_ids
    other = Candidate("c", "scripted", Model("m", "m.gguf", "e" * 64, 1), {})
    assert steps_at(tmp_path).screen_speed(other, requests=6).run_ids != first.run_ids
    renamed = Candidate("another label", "scripted", MODEL, {})
    assert steps_at(tmp_path).screen_speed(renamed, requests=6).run_ids == first.run_ids
    slower = Candidate("c", "scripted", MODEL, {"slots": 1})
    assert steps_at(tmp_path).screen_speed(slower, requests=6).run_ids != first.run_ids
