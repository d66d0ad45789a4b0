"""One self-contained page from a result document: no request leaves it, and no text of a model becomes markup.

Enters the document; leaves HTML, or a file written atomically. The page's policy forbids every load and every script
but our own one, so that escaping is not the only thing between a model's text and the reader. Needs the extra `report`.
"""

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from paretoken.errors import MissingExtraError, writing
from paretoken.records.files import write_atomic
from paretoken.report.chart_style import theme_css
from paretoken.report.charts import pictures
from paretoken.report.page import page
from paretoken.report.reading import Reading

MAX_DATA_BYTES = 500_000
_TEMPLATES = files("paretoken.report") / "templates"


def render_html(result: Mapping[str, Any]) -> str:
    """The page of a study's result document. Raises MissingExtraError without the extra `report`."""
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError as error:
        raise MissingExtraError("the page", "report") from error
    from markupsafe import Markup

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(lambda name: (_TEMPLATES / name).read_text("utf-8")),
    )
    reading = Reading(result)
    script = (_TEMPLATES / "page.js").read_text("utf-8").strip()
    return environment.get_template("report.html.j2").render(
        **page(reading),
        # Markup: drawn or written by us; chart_style.svg_of lets through nothing but shapes and escaped text.
        pictures={
            name: {
                "svg": Markup(picture.svg),
                "wide_svg": Markup(picture.wide_svg) if picture.wide_svg else None,
                "words": picture.words,
            }
            for name, picture in pictures(reading).items()
        },
        css=Markup(theme_css() + (_TEMPLATES / "style.css").read_text("utf-8")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=Markup(json_for_script(result)),
    )


def json_for_script(result: Mapping[str, Any]) -> str:
    """JSON that can stand in a script block: no '<' can end the block. A very large document is left out."""
    text = msgspec.json.encode(dict(result)).decode()
    if len(text) > MAX_DATA_BYTES:
        text = msgspec.json.encode({"study": result.get("study"), "left_out": "see result.json"}).decode()
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def write_report(result: Mapping[str, Any], path: Path) -> Path:
    """Write the page to `path`; a reader sees the old page or the new one, never a part."""
    text = render_html(result)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, text.encode("utf-8"))
    return path
