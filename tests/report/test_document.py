"""Documents say what they are: the samples, and the real ones that the documentation stores."""

import json
from pathlib import Path
from typing import Any

import pytest

from paretoken.report.document import SCHEMA, unsaid
from paretoken.report.page import page
from paretoken.report.reading import Reading
from tests.report.sample import ENDINGS, sample

STORED = sorted((Path(__file__).parents[2] / "docs" / "results").glob("optimize-*.json"))


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_stored_document_says_its_schema_definitions_and_provenance(path: Path) -> None:
    result = json.loads(path.read_text("utf-8"))
    assert unsaid(result) == []
    assert {"output_tok_s", "tpot", "ttft", "intervals"} <= set(result["definitions"])


def test_there_are_stored_documents_and_the_samples_are_like_them() -> None:
    assert len(STORED) >= 2
    assert [unsaid(make()) for make in ENDINGS.values()] == [[] for _ in ENDINGS]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": None}, ["schema"]),
        ({"schema": True}, ["schema"]),
        ({"schema": SCHEMA + 1}, [f"schema {SCHEMA + 1} is newer than this report, which knows {SCHEMA}"]),
        ({"definitions": {}}, ["definitions"]),
        ({"provenance": {**sample()["provenance"], "clock": None}}, ["provenance.clock"]),
    ],
)
def test_what_is_not_said_is_named_on_the_page(change: dict[str, Any], said: list[str]) -> None:
    result = {**sample(), **change}
    assert unsaid(result) == said
    assert page(Reading(result))["unsaid"] == said


def test_an_empty_document_says_nothing() -> None:
    assert {"schema", "definitions", "provenance.tool_version"} <= set(unsaid({}))
