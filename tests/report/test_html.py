import base64
import hashlib
import json
import re
import stat
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from paretoken.errors import MissingExtraError
from paretoken.report import html
from paretoken.report.html import json_for_script, render_html, write_report
from tests.report.sample import ENDINGS, STUDY, interrupted, sample
from tests.report.sample_variants import hostile, many_trials, of_before

VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}


class Tree(HTMLParser):
    """Collects elements and checks that every one that is opened is closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def test_the_page_is_well_formed_and_its_names_are_unique(whole_page: str) -> None:
    tree = Tree(whole_page)
    names = [attributes["id"] for _, attributes in tree.elements if "id" in attributes]
    assert len(names) == len(set(names))
    labelled = [attributes["aria-labelledby"] for attributes in tree.all("section")]
    assert set(labelled) <= set(names)
    assert whole_page.startswith("<!doctype html>")


def test_nothing_is_loaded_from_anywhere(whole_page: str) -> None:
    for tag, attributes in Tree(whole_page).elements:
        for name in ("src", "href", "srcset", "action", "data", "poster", "xlink:href"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:,")), f"<{tag} {name}={value}>"
    css = "".join(re.findall(r"<style>(.*?)</style>", whole_page, re.DOTALL))
    assert css
    assert "url(" not in css
    assert "@import" not in css


def test_the_policy_lets_only_our_own_script_run(whole_page: str) -> None:
    policy = next(
        m["content"] for m in Tree(whole_page).all("meta") if m.get("http-equiv") == "Content-Security-Policy"
    )
    scripts = re.findall(r"<script>(.*?)</script>", whole_page, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert policy is not None
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_it_can_be_read_without_seeing_the_charts_and_without_a_mouse(whole_page: str) -> None:
    tree = Tree(whole_page)
    charts = [attributes for attributes in tree.all("div") if (attributes.get("class") or "").startswith("chart ")]
    charts += [attributes for attributes in tree.all("div") if attributes.get("class") == "chart"]
    assert len(charts) == 8
    assert all(chart.get("role") == "img" and chart.get("aria-label") for chart in charts)
    assert len(tree.all("details")) == len(tree.all("summary")) >= 6
    assert all(a.get("tabindex") == "0" for a in tree.all("div") if a.get("class") == "scroll")
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in tree.all("meta")
    assert tree.all("html")[0].get("lang") == "en"
    assert len(tree.all("h1")) == 1


def test_it_says_what_matters(whole_page: str) -> None:
    for words in (
        "1.62× as many tokens a second",
        "faster</b> than the hand setting",
        "Q4_0 · 8 slots: refused",
        "air scatters short wavelengths",
        "host contended",
        "stop the other work and repeat",
        f"paretoken serve {STUDY}",
        "the engine ended with signal 9",
        "percentile_method",
        f"paretoken verify {STUDY}",
        "llama-server --model &#39;my model.Q8_0.gguf&#39;",
        "The knee of the frontier is Q8_0 · 4 slots",
        "the objective were latency",
        "Prompt tokens from the cache",
        "schema of this document",
    ):
        assert words in whole_page


def test_it_is_small(whole_page: str) -> None:
    assert len(whole_page.encode()) < 400_000


def test_it_holds_its_data(whole_page: str) -> None:
    data = re.findall(r'<script type="application/json" id="data">(.*?)</script>', whole_page, re.DOTALL)
    assert json.loads(data[0]) == json.loads(json.dumps(sample()))


def test_data_cannot_end_its_script_block_and_means_the_same() -> None:
    hostile = {"a": "</script><script>alert(1)</script><!-- &amp; \u2028"}
    text = json_for_script(hostile)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == hostile


def test_a_very_large_document_is_named_and_not_embedded() -> None:
    assert json.loads(json_for_script({"study": STUDY, "x": "y" * 600_000})) == {
        "study": STUDY,
        "left_out": "see result.json",
    }


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("make", [*ENDINGS.values(), interrupted, of_before, many_trials, hostile, dict])
def test_each_ending_has_a_well_formed_page(make: Callable[[], dict[str, Any]]) -> None:
    Tree(render_html(make()))


@pytest.mark.usefixtures("no_pictures")
def test_writing_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_report(sample(), tmp_path / "studies" / "report.html")
    before = path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def broken(_: object) -> str:
        raise RuntimeError("no page")

    monkeypatch.setattr(html, "render_html", broken)
    with pytest.raises(RuntimeError):
        write_report(sample(), path)
    assert path.read_text() == before
    assert [child.name for child in path.parent.iterdir()] == ["report.html"]


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"'report'"):
        render_html(sample())
