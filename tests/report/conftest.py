"""Pictures take seconds to draw, so a whole page is drawn once."""

from collections.abc import Iterator

import pytest

from paretoken.report import html
from paretoken.report.html import render_html
from tests.report.sample import sample


@pytest.fixture(scope="session")
def whole_page() -> str:
    return render_html(sample())


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pages without drawing, where the pictures are not what is tested."""
    monkeypatch.setattr(html, "pictures", lambda reading: {})
    yield
