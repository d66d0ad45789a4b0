"""Docs cannot lie: figures, links, help texts and names in the docs are held to the code and the stored results."""

import re
import subprocess
import sys

import click
import pytest

from paretoken.cli.main import VERBS, cli
from tests.docs.figures import DOCS, FIGURE, ROOT, SCREEN, figure_text, matches, screen_text

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)|!\[[^\]]*\]\(([^)\s]+)\)|<img[^>]+src=\"([^\"]+)\"")


@pytest.mark.parametrize("figure", matches(FIGURE), ids=lambda f: f"{f[0]}:{f[2]}")
def test_each_figure_is_what_its_stored_result_says(figure: tuple[str, ...]) -> None:
    _, file, path, form, text = figure
    assert text == figure_text(file, path, form)


def test_the_readme_shows_figures_from_stored_results() -> None:
    assert any(page == "README.md" for page, *_ in matches(FIGURE))


def test_each_screen_is_what_its_stored_result_prints() -> None:
    assert any(page == "README.md" for page, *_ in matches(SCREEN))
    for page, file, text in matches(SCREEN):
        assert text == screen_text(file), page


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
