"""The docs' figures and screens: what each must say, by its stored result.

    .venv/bin/python -m tests.docs.figures    # write them all anew, after a benchmark has stored a new result

`<!--= docs/results/x.json path.to.value format -->text<!--=-->` is a figure; `<!--screen docs/results/x.json-->` stands
before a block that shows the last screen of that stored study.
"""

import json
import re
from pathlib import Path
from typing import Any

from paretoken.report.terminal import last_screen

ROOT = Path(__file__).parents[2]
DOCS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
FIGURE = re.compile(r"(<!--= (\S+) (\S+) (\S+) -->)(.*?)(<!--=-->)")
SCREEN = re.compile(r"(<!--screen (\S+)-->\n```text\n)(.*?)(```)", flags=re.DOTALL)


def look_up(document: Any, path: str) -> Any:
    """Follow a dotted path; a number indexes a list; `key=value` finds the list's member whose key has that value."""
    for part in path.split("."):
        if isinstance(document, list) and "=" in part:
            key, _, wanted = part.partition("=")
            document = next(item for item in document if str(item[key]) == wanted.replace("_", " "))
        elif isinstance(document, list):
            document = document[int(part)]
        else:
            document = document[part]
    return document


def figure_text(file: str, path: str, form: str) -> str:
    """The value at `path` of the result `file`, as `form` writes it: `.1f`, or `100*.0f` for the hundredfold."""
    value = look_up(json.loads((ROOT / file).read_text()), path)
    scale, _, form = form.rpartition("*")
    return format(value * float(scale or 1), form)


def screen_text(file: str) -> str:
    return "".join(f"{line}\n" for line in last_screen(json.loads((ROOT / file).read_text())))


def matches(pattern: re.Pattern[str]) -> list[tuple[str, ...]]:
    """(page, what the marker names …, the text between the marks), of all pages."""
    found = ((page, match) for page in DOCS for match in pattern.finditer(page.read_text()))
    return [(str(page.relative_to(ROOT)), *match.groups()[1:-1]) for page, match in found]


def main() -> None:
    for page in DOCS:
        old = page.read_text()
        new = FIGURE.sub(lambda m: f"{m[1]}{figure_text(m[2], m[3], m[4])}{m[6]}", old)
        new = SCREEN.sub(lambda m: f"{m[1]}{screen_text(m[2])}{m[4]}", new)
        if new != old:
            page.write_text(new)
            print(f"rewrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
