"""The page in a real browser: it loads nothing, runs nothing of a model's, and can be read at every size and shade.

Skipped where there is no Chromium, unless PARETOKEN_NEED_CHROMIUM=1 says that there must be one.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from paretoken.report.html import write_report
from tests.report.chromium import NEEDED, Browser, Look, Page, chromium_path, tabbed
from tests.report.sample import ENDINGS, interrupted
from tests.report.sample_variants import HOSTILE, hostile, many_trials, of_before

REAL = Path(__file__).parents[2] / "docs" / "results" / "optimize-8-streams.json"
DESKTOP, PHONE = Look(), Look(390, 844)
DARK, DARK_PHONE = Look(dark=True), Look(390, 844, dark=True)


def real() -> dict[str, Any]:
    return dict(json.loads(REAL.read_text("utf-8")))


SAMPLES: dict[str, Callable[[], dict[str, Any]]] = {
    **ENDINGS,
    "interrupted": interrupted,
    "of_before": of_before,
    "many_trials": many_trials,
    "hostile": hostile,
    "real": real,
    "empty": dict,
}

# Each text that can be seen: what it says, its size in px, its contrast with what is behind it.
TEXTS = """(() => {
  const parts = c => (c.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = c => { const [r, g, b] = parts(c).slice(0, 3).map(v => { v /= 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126*r + 0.7152*g + 0.0722*b; };
  const solid = c => c !== 'transparent' && (parts(c)[3] ?? 1) === 1;
  const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if (solid(c)) return c; } return 'rgb(255, 255, 255)'; };
  const found = [];
  for (const e of document.body.querySelectorAll('*')) {
    const own = [...e.childNodes].filter(n => n.nodeType === 3 && n.data.trim()).map(n => n.data.trim()).join(' ');
    const box = e.getBoundingClientRect(), style = getComputedStyle(e);
    const halo = e.tagName === 'text' && style.stroke !== 'none';
    if (!own || !box.width || !box.height || halo || box.right < 0 || ['SCRIPT', 'STYLE'].includes(e.tagName)) continue;
    const svg = e.ownerSVGElement, ink = light(svg ? style.fill : style.color), paper = light(behind(e));
    const zoom = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    found.push([own.slice(0, 60), parseFloat(style.fontSize) * zoom, contrast]);
  }
  return found;
})()"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = chromium_path()
    if program is None:
        words = "no chromium on this machine; on Debian: apt-get install --no-install-recommends chromium"
        if os.environ.get(NEEDED) == "1":
            pytest.fail(f"{NEEDED}=1, but there is {words}")
        pytest.skip(words)
    with Browser(program, tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Where a sample's page lies; each is drawn once."""
    folder = tmp_path_factory.mktemp("pages")

    def of(name: str) -> str:
        path = folder / f"{name}.html"
        return (path if path.exists() else write_report(SAMPLES[name](), path)).as_uri()

    return of


def assert_quiet(page: Page, own: str) -> None:
    assert page.seen.complaints == []
    assert page.seen.dialogs == []
    assert [url for url in page.seen.requests if url != own and not url.startswith("data:,")] == []
    assert page.value("typeof window.x") == "undefined"
    assert (
        page.value("document.querySelectorAll('img, iframe, object, embed, script[src], link[href^=http]').length") == 0
    )


def assert_readable(page: Page) -> None:
    texts = page.value(TEXTS)
    assert len(texts) > 10
    assert [text for text in texts if text[1] < 9.9] == []
    assert [text for text in texts if text[2] < 4.5] == []


@pytest.mark.parametrize("name", SAMPLES)
def test_a_page_is_quiet_and_readable_at_every_size_and_shade(
    browser: Browser, address: Callable[[str], str], name: str
) -> None:
    own = address(name)
    for look in (DESKTOP, PHONE, DARK, DARK_PHONE):
        with browser.page(own, look) as page:
            page.value("document.querySelectorAll('details').forEach(part => { part.open = true })")
            assert page.value("document.querySelector('h1').textContent.trim().length") > 10
            assert page.value("document.documentElement.scrollWidth - innerWidth") <= 0
            paper = page.value("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
            assert max(paper) < 60 if look.dark else min(paper) > 200
            assert_readable(page)
            assert_quiet(page, own)


def test_text_of_a_model_stays_text(browser: Browser, address: Callable[[str], str]) -> None:
    with browser.page(address("hostile"), DESKTOP) as page:
        answers = page.value("[...document.querySelectorAll('.answer p')].map(p => p.textContent)")
        assert answers[0] == f"same {HOSTILE}"
        assert page.value("[...document.scripts].map(s => s.type || 'ours')") == ["application/json", "ours"]
        assert page.value("JSON.parse(document.getElementById('data').textContent).binds") == HOSTILE


def test_the_browser_would_have_told_of_a_script_or_a_load(browser: Browser, tmp_path: Path) -> None:
    """The same checks on a page that does what ours must not: they see it."""
    path = tmp_path / "bad.html"
    path.write_text("<body><img src='https://example.invalid/q' onerror='window.x=1'><script>console.warn(1)</script>")
    with browser.page(path.as_uri(), PHONE) as page:
        page.value("new Promise(done => setTimeout(done, 300))")
        assert any("console.warning" in said for said in page.seen.complaints)
        assert "https://example.invalid/q" in page.seen.requests
        assert page.value("window.x") == 1


def test_everything_that_can_be_used_is_reached_by_tab_and_shows_it(
    browser: Browser, address: Callable[[str], str]
) -> None:
    with browser.page(address("better"), DESKTOP) as page:
        wanted = page.value(
            'document.querySelectorAll(\'a[href], button, summary, details[open] [tabindex="0"], '
            '[tabindex="0"]:not(details *)\').length'
        )
        reached = tabbed(page)
        assert reached[0].startswith("a|")  # the way past the header
        assert len(reached) == wanted >= 15
        assert all(where.endswith("|solid") for where in reached)


def test_skip_link_switch_and_details_work_without_a_mouse(browser: Browser, address: Callable[[str], str]) -> None:
    with browser.page(address("better"), DESKTOP) as page:
        page.press("Tab")
        assert page.value("document.activeElement.getBoundingClientRect().left") >= 0
        page.press("Enter")
        assert page.value("location.hash") == "#result"
        page.value("document.getElementById('switch').focus()")
        page.press("Enter")
        paper = page.value("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
        assert max(paper) < 60
        page.value("document.querySelector('summary').focus()")
        page.press("Enter")
        assert page.value("document.querySelector('details').open") is True


def test_a_command_can_be_selected_whole(browser: Browser, address: Callable[[str], str]) -> None:
    with browser.page(address("better"), DESKTOP) as page:
        page.value("document.querySelectorAll('button.copy')[2].click()")
        assert page.value("getSelection().toString()").startswith("llama-server --model 'my model.Q8_0.gguf'")
        assert_quiet(page, address("better"))
