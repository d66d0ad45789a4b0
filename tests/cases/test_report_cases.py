"""The case files about reports."""

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from paretoken.report.figures import show_ms
from paretoken.report.html import render_html
from paretoken.report.sheet import requests_csv
from paretoken.report.tables import metrics_table
from paretoken.report.words import size_and_speed
from tests.made import record
from tests.report.sample import BASELINE, distribution, metrics, requests, sample

CASES = Path(__file__).parent


def case(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((CASES / f"{name}.json").read_text())
    return loaded


class Text(HTMLParser):
    """What a reader sees, and what would run or load."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.seen = ""
        self.scripts: list[str] = []
        self.images = 0
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        self.images += tag == "img"
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag == "script":
            self.scripts.append(dict(attrs).get("type") or "javascript")

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.seen += data


def everywhere(value: Any, text: str) -> Any:
    """The same document with `text` in place of every string that a model, a server or a file may have chosen."""
    chosen = {
        "label",
        "prompt",
        "baseline",
        "candidate",
        "reason",
        "why",
        "seen",
        "name",
        "model",
        "cpu",
        "engine_version",
    }
    if isinstance(value, dict):
        return {
            name: text if name in chosen and isinstance(item, str) else everywhere(item, text)
            for name, item in value.items()
        }
    return [everywhere(item, text) for item in value] if isinstance(value, list) else value


def test_se_model_output_in_html() -> None:
    found = case("se-model-output-in-html")
    hostile, expect = found["input"]["model_text"], found["expect"]
    page = render_html(everywhere(sample(), hostile))
    for raw in expect["report_has_no_raw"]:
        assert raw not in page
    text = Text(page)
    assert (hostile in text.seen) is expect["text_still_readable"]
    assert text.scripts == ["application/json", "javascript"]
    assert text.images == expect["external_requests_when_opened"] == 0
    markup = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    addresses = re.findall(r"""<[^>]*\b(?:src|href)="([^"]*)\"""", markup)
    assert addresses
    assert all(address.startswith(("#", "data:,")) for address in addresses)


def test_qv_smaller_but_slower() -> None:
    found = case("qv-smaller-but-slower")
    before, after, expect = found["input"]["fp16"], found["input"]["int4"], found["expect"]
    speedup, size = after["tok_per_s"] / before["tok_per_s"], after["bytes"] / before["bytes"]
    assert round(speedup, 3) == expect["speedup"]
    assert round(size, 3) == expect["size_ratio"]
    said = size_and_speed(speedup, size)
    assert all(word in said for word in expect["headline_contains"])
    assert said == "smaller but slower: 0.30× the size, 0.75× the tokens a second"


def test_ru_unit_matches_value() -> None:
    found = case("ru-unit-matches-value")
    value_ms = found["expect"]["csv_value"]
    assert value_ms == found["input"]["ttft_s"] * 1000
    assert show_ms(value_ms) == "1.62 s"
    console = Console(width=100, highlight=False)
    with console.capture() as capture:
        figures = {"ttft_ms": distribution([value_ms] * 80)}
        console.print(metrics_table(figures, requests(80), []))
    row = next(line for line in capture.get().splitlines() if line.startswith("first word from sent"))
    assert re.sub(r"\s+", " ", row).strip().startswith("first word from sent 1.62 s 1.62 to 1.62 s")
    expect = found["expect"]
    table = requests_csv([record(0, ttft_s=found["input"]["ttft_s"], tokens=1)], text=True)
    (request,) = csv.DictReader(io.StringIO(table, newline=""))
    assert float(request[expect["csv_header"]]) == pytest.approx(value_ms)
    # Every number is named with its unit, or is no quantity at all.
    units = ("_ms", "_tokens", "_chunks", "_id", "_number", "_status")
    numeric = [name for name, cell in request.items() if re.fullmatch(r"-?[\d.]+", cell)]
    assert len(numeric) >= 12
    assert all(name.endswith(units) for name in numeric) is expect["every_numeric_field_has_unit_in_name_or_schema"]


@pytest.mark.parametrize("key", sorted(metrics(BASELINE.label)))
def test_ru_every_shown_number_has_its_unit(key: str) -> None:
    """No number stands in the tables without a unit beside it."""
    console = Console(width=160, highlight=False)
    with console.capture() as capture:
        console.print(metrics_table({key: metrics(BASELINE.label)[key]}, {}, []))
    table = capture.get().split("100 ms:")[0].split("Not known")[0]
    cells = [cell for line in table.splitlines() for cell in re.split(r"\s{2,}", line) if re.match(r"[\d.,]+", cell)]
    units = ("ms", "s", "tok/s", "requests/s", "%", ")")
    headings = ("95 % interval",)
    assert all(cell.rstrip().endswith(units) or cell in headings for cell in cells), cells
