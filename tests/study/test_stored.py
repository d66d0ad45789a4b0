"""A study's file is believed only where its steps look like steps."""

import json
from pathlib import Path
from typing import Any

import pytest

from paretoken.errors import CaptureError
from paretoken.study.file import STUDY_FILE, StudyFile
from paretoken.study.stored import check

GOOD: dict[str, dict[str, Any]] = {
    "parameters": {
        "model": "m",
        "concurrency": 8,
        "output_tokens": 32,
        "budget_s": 480.0,
        "behaviour_margin_nat": 0.01,
        "for": None,
        "slo": "",
        "goal": "cost",
        "engine": "llamacpp",
        "seed": 0,
        "price": None,
        "started_at": "2026-12-01",
    },
    "first_look": {"token_s": 0.01, "prefill_s": 0.003, "start_s": 1.0, "trace": {}},
    "behaviour": {"verdict": "changed", "kld": {"value": 0.1, "se": 0.1, "ci95": [0.0, 0.2]}, "positions": 256},
    "intact": {"verdict": "intact"},
    "trial": {"state": "complete", "reason": None, "run_ids": [], "metrics": {}, "doubts": []},
    "block": {"label": "A", "block": 0, "run_id": "R", "doubts": [], "clock": "kernel"},
    "replanned": {"positions": 512, "short": None},
    "answers": {"pairs": []},
    "broken": {"reason": "it died"},
}


@pytest.mark.parametrize("kind", sorted(GOOD))
def test_a_step_as_it_is_written_is_believed(kind: str) -> None:
    check(kind, GOOD[kind])


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("parameters", {"concurrency": "x"}),
        ("parameters", {"concurrency": None}),
        ("parameters", {"concurrency": 2.5}),
        ("parameters", {"concurrency": True}),
        ("parameters", {"concurrency": 0}),
        ("parameters", {"budget_s": "x"}),
        ("parameters", {"budget_s": 0}),
        ("parameters", {"model": 5}),
        ("parameters", {"slo": 5}),
        ("parameters", {"goal": ["x"]}),
        ("parameters", {"goal": "beauty"}),
        ("parameters", {"seed": 1.5}),
        ("parameters", {"price": "x"}),
        ("parameters", {"price": {"price_per_hour": "nan", "currency": "USD", "source": "", "as_of": ""}}),
        ("first_look", {"token_s": "x"}),
        ("first_look", {"token_s": 1e308}),
        ("first_look", {"token_s": -5}),
        ("behaviour", {"kld": 5}),
        ("behaviour", {"verdict": None}),
        ("behaviour_screen", {"verdict": "bogus"}),
        ("intact", {"verdict": None}),
        ("trial", {"state": "bogus"}),
        ("trial", {"metrics": "x"}),
        ("trial", {"metrics": {"output_tok_s": {"value": "x"}}}),
        ("trial", {"run_ids": 5}),
        ("trial", {"doubts": [{"name": "nonsense", "seen": ""}]}),
        ("block", {"run_id": 5}),
        ("block", {"doubts": "abc"}),
        ("block", {"clock": []}),
        ("replanned", {"positions": 0}),
    ],
)
def test_a_step_of_another_shape_is_one_sentence(kind: str, wrong: dict[str, Any], tmp_path: Path) -> None:
    data = {**GOOD.get(kind, GOOD["behaviour"]), **wrong}
    (tmp_path / "S").mkdir()
    line = json.dumps({"schema": 1, "kind": kind, "key": "k", "data": data})
    (tmp_path / "S" / STUDY_FILE).write_text(line + "\n")
    with pytest.raises(CaptureError, match=r"line 1 is not a step of a study \(.+\); begin a new study"):
        StudyFile(tmp_path / "S")


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ValueError, match="run_ids"):
        check("trial", {"state": "complete", "reason": None, "metrics": {}, "doubts": []})
