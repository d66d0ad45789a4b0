"""Docs cannot lie: figures, links, help texts and names in the docs are held to the code and the stored results."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from paretoken.cli.main import VERBS, cli

ROOT = Path(__file__).parents[2]
DOCS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]

# `<!--= docs/results/x.json path.to.value format -->text<!--=-->`: the text must be what the stored result says.
FIGURE = re.compile(r"<!--= (\S+) (\S+) (\S+) -->(.*?)<!--=-->")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)|!\[[^\]]*\]\(([^)\s]+)\)|<img[^>]+src=\"([^\"]+)\"")


def figures() -> list[tuple[str, ...]]:
    return [
        (str(page.relative_to(ROOT)), *match.groups()) for page in DOCS for match in FIGURE.finditer(page.read_text())
    ]


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


@pytest.mark.parametrize("figure", figures(), ids=lambda f: f"{f[0]}:{f[2]}")
def test_each_figure_is_what_its_stored_result_says(figure: tuple[str, ...]) -> None:
    _, file, path, form, text = figure
    value = look_up(json.loads((ROOT / file).read_text()), path)
    scale, _, form = form.rpartition("*")
    assert format(value * float(scale or 1), form) == text


def test_the_readme_shows_figures_from_stored_results() -> None:
    assert any(page == "README.md" for page, *_ in figures())


def screens() -> list[tuple[str, ...]]:
    """`<!--screen docs/results/x.json-->` stands before a block that shows the last screen of that stored result."""
    found = re.compile(r"<!--screen (\S+)-->\n```text\n(.*?)```", flags=re.DOTALL)
    return [(page.name, *match.groups()) for page in DOCS for match in found.finditer(page.read_text())]


def test_each_screen_is_what_its_stored_result_prints() -> None:
    from paretoken.report.terminal import last_screen

    assert any(page == "README.md" for page, *_ in screens())
    for page, file, text in screens():
        assert text.splitlines() == last_screen(json.loads((ROOT / file).read_text())), page


def test_links_between_files_lead_somewhere() -> None:
    missing = []
    for page in DOCS:
        for match in LINK.finditer(page.read_text()):
            target = next(group for group in match.groups() if group)
            if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
                missing.append(f"{page.relative_to(ROOT)} → {target}")
    assert not missing


def commands() -> list[tuple[str, click.Command]]:
    found: list[tuple[str, click.Command]] = [("", cli)]
    context = click.Context(cli)
    for verb in VERBS:
        command = cli.get_command(context, verb)
        assert command is not None
        found.append((verb, command))
        if isinstance(command, click.Group):
            found += [(f"{verb} {name}", sub) for name, sub in command.commands.items()]
    return found


@pytest.mark.parametrize(("name", "command"), commands(), ids=lambda value: value if isinstance(value, str) else "")
def test_each_help_ends_with_two_examples(name: str, command: click.Command) -> None:
    examples = example_lines(command)
    assert len(examples) == 2, f"'paretoken {name} --help' must end with two examples"


def example_lines(command: click.Command) -> list[str]:
    return [line.strip() for line in (command.epilog or "").splitlines() if line.strip().startswith("paretoken ")]


@pytest.mark.parametrize(("name", "command"), commands(), ids=lambda value: value if isinstance(value, str) else "")
def test_the_examples_parse(name: str, command: click.Command) -> None:
    import shlex

    for line in example_lines(command):
        words = shlex.split(line)[1:]
        context: click.Context = cli.make_context("paretoken", list(words))
        group: click.Command = cli
        rest = [*context._protected_args, *context.args]
        while isinstance(group, click.Group) and rest:
            sub = group.get_command(context, rest[0])
            assert sub is not None, f"'{line}' names no verb"
            context = sub.make_context(rest[0], rest[1:], parent=context)
            group = sub
            rest = [*context._protected_args, *context.args] if isinstance(sub, click.Group) else []


def test_public_names_are_sorted_and_real() -> None:
    import paretoken

    assert paretoken.__all__ == sorted(paretoken.__all__)
    for name in paretoken.__all__:
        assert getattr(paretoken, name).__doc__, f"{name} has no docstring"
    with pytest.raises(AttributeError):
        _ = paretoken.nonsense


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from paretoken.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'rich', 'scipy', 'altair', 'gguf', 'xllamacpp', 'jinja2', 'msgspec'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr.strip() == "[]"
    assert "optimize" in done.stdout


def test_every_doc_of_a_technique_decision_has_a_date_and_state() -> None:
    for page in sorted((ROOT / "docs" / "adr").glob("*.md")):
        assert re.search(r"\*20\d\d-\d\d-\d\d · (accepted|superseded)", page.read_text()), page.name


def test_the_makefile_has_what_the_readme_promises() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in ("demo", "test", "check", "bench"):
        assert f"\n{target}:" in makefile
    assert "--only-binary :all:" in makefile
    assert "make test" in (ROOT / ".ci" / "run").read_text()
