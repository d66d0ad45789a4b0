"""No case is left out: each id is named by a test, and its file is the one that the id says."""

import json
from pathlib import Path

import pytest

CASES = Path(__file__).parent
FILES = sorted(CASES.glob("*.json"))
TESTS = {path: path.read_text() for path in CASES.parent.rglob("test_*.py")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_case_is_named_by_a_test(path: Path) -> None:
    case = json.loads(path.read_text())
    assert case["id"] == path.stem
    # Where a kind has `reads`, one parametrised test takes every file of it.
    if "reads" not in case["input"]:
        assert any(f'"{case["id"]}' in text or f"ase {case['id']}" in text for text in TESTS.values())
