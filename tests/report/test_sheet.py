"""Tables for a spreadsheet: their cells, headers and units."""

import csv
import io
import math
from typing import Any

import pytest

from paretoken.report.sheet import candidates_csv, requests_csv
from tests.made import failed, record
from tests.report.sample import sample


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_one_row_a_request_with_numbers_as_they_are() -> None:
    early = record(1, due_at=2.0, sent_at=1.9995, ttft_s=0.25, tpot_s=0.02, tokens=5, warmup=True)
    found = read(requests_csv([failed(0, status=503), early]))
    assert (found[0]["outcome"], found[0]["error"], found[0]["http_status"]) == ("failed", "http_status", "503")
    assert found[0]["ttft_ms"] == found[0]["output_tokens"] == ""
    assert found[1]["lateness_ms"] == "-0.5"  # a negative number is a number
    assert (found[1]["ttft_ms"], found[1]["tpot_ms"], found[1]["output_tokens"]) == ("250.0", "20.0", "5")
    assert found[1]["warmup"] == "true"


def test_answers_only_when_asked_for() -> None:
    said = record(0, reply={"text": 'two\nlines, "quoted"', "reasoning_text": "because"})
    assert "answer" not in read(requests_csv([said]))[0]
    (row,) = read(requests_csv([said], text=True))
    assert (row["answer"], row["reasoning"]) == ('two\nlines, "quoted"', "because")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@A1", "\t=1", "\r=1", "\n=1", "  =1", "\uff1d1", "\uff0b1"])
def test_text_is_never_a_formula(text: str) -> None:
    (row,) = read(requests_csv([record(0, reply={"text": text, "finish_reason": text})], text=True))
    assert row["answer"] == row["finish_reason"] == f"'{text}"


def test_ordinary_text_is_untouched() -> None:
    (row,) = read(requests_csv([record(0, reply={"text": "a = b - c"})], text=True))
    assert row["answer"] == "a = b - c"


def test_a_studys_candidates() -> None:
    document = sample()
    found = read(candidates_csv(document))
    assert [row["label"] for row in found] == [row["label"] for row in document["candidates"]]
    (best,) = [row for row in found if row["recommended"] == "true"]
    assert best["label"] == document["recommended"]["label"]
    stored = next(row for row in document["candidates"] if row["label"] == best["label"])
    assert float(best["output_tok_s"]) == stored["output_tok_s"]["value"]
    assert float(best["output_tok_s_ci95_low"]) == stored["output_tok_s"]["ci95"][0]
    assert float(best["ttft_from_due_p95_ms"]) == stored["ttft_from_due_ms"]["value"]
    assert best["model_bytes"] == str(stored["bytes"])
    assert "cost_per_million_output_tokens_s" in best


def test_a_cost_in_money_names_its_currency() -> None:
    document = sample()
    document["baseline"]["metrics"]["cost_per_mtok"] = {"currency": "USD"}
    for row in document["candidates"]:
        row["cost_per_mtok"] = {"value": 0.5, "ci95": None}
    assert read(candidates_csv(document))[0]["cost_per_million_output_tokens_USD"] == "0.5"


@pytest.mark.parametrize("rows", [None, [5], [{}], [{"label": "=1", "output_tok_s": 7, "bytes": math.nan}]])
def test_a_damaged_document_gives_a_table_all_the_same(rows: Any) -> None:
    for row in read(candidates_csv({"candidates": rows})):
        assert row["label"] in ("", "'=1")
        assert row["output_tok_s"] == row["model_bytes"] == ""
