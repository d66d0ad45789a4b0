"""The definitions in results, in the docs and in the code are the same ones."""

from pathlib import Path

from paretoken.core.objective import Load
from paretoken.metrics.cost import Price
from paretoken.metrics.definitions import DEFINITIONS, INTERVALS, PERCENTILES, as_markdown, definitions_json, digest
from paretoken.metrics.latency import SPANS
from paretoken.metrics.summary import summarise
from tests.made import closed_loop

PAGE = (Path(__file__).parents[2] / "docs" / "definitions.md").read_text(encoding="utf-8")


def test_the_page_shows_the_codes_table() -> None:
    assert as_markdown() in PAGE
    for text in (PERCENTILES, INTERVALS):
        assert " ".join(text.split()) in " ".join(PAGE.replace("\n", " ").split())


def test_every_figure_of_a_result_is_defined() -> None:
    names = set()
    for price in (None, Price(1.0, "USD", "x", "2026-11-30")):
        metrics = summarise(closed_loop(1, [1.0] * 3), load=Load(concurrency=1), price=price).as_json()["metrics"]
        names |= set(metrics)
    defined = {f"{name}_ms" if name in SPANS else name for name in DEFINITIONS}
    assert names - defined == {"slo"}
    # These need the model's dimensions: others compute them.
    assert defined - names == {"mbu", "mfu"}


def test_the_block_is_plain_text_by_name() -> None:
    block = definitions_json()
    assert all(isinstance(text, str) and text for text in block.values())
    assert block["e2e"] == "end marker (else finish_reason) − sent"
    assert "type 7" in block["percentiles"]
    assert len(digest()) == 64
