"""No case of these kinds is left out: each id is named by a test, and its file is the one that the id says."""

import json
from pathlib import Path

import pytest

CASES = Path(__file__).parent
KINDS = ("search/tuning", "statistics", "engine launching", "reporting/units", "security")
FILES = sorted(path for path in CASES.glob("*.json") if json.loads(path.read_text())["kind"] in KINDS)
TESTS = {path: path.read_text() for path in CASES.parent.rglob("test_*.py")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_case_is_named_by_a_test(path: Path) -> None:
    case = json.loads(path.read_text())
    assert case["id"] == path.stem
    assert any(case["id"] in text for text in TESTS.values())
