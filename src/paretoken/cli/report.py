"""paretoken report: a stored study's last screen, page or document again; or one run's figures."""

import json
from pathlib import Path
from typing import Any

import click

from paretoken.cli.output import print_table
from paretoken.errors import UsageError


@click.command(epilog="Examples:\n\n  paretoken report\n\n  paretoken report --html")
@click.argument("study", required=False, metavar="[STUDY|RUN]")
@click.option("--html", "as_html", is_flag=True, help="Write the page again, and print where it lies.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of lines.")
@click.pass_obj
def report(obj: dict[str, Any], study: str | None, as_html: bool, as_json: bool) -> None:
    """Show a stored study (the newest, if none is named) or the figures of a run."""
    from paretoken.records.ulid import is_ulid

    home: Path = obj["home"]
    if as_html and as_json:
        raise UsageError("--html and --json are two forms of one report; choose one")
    from paretoken.study.studies import newest_with_result

    name = newest_with_result(home) if study is None else study
    if not is_ulid(name):
        raise UsageError(f"'{name[:100]}' is not the ID of a study or a run; those are 26 letters and digits")
    if (home / "studies" / name).is_dir():
        show_study(home / "studies" / name, as_html, as_json)
    elif as_html:
        raise UsageError(f"{name} is not a study in {home}, and only a study has a page; leave out --html")
    else:
        show_run(home, name, as_json)


def show_study(folder: Path, as_html: bool, as_json: bool) -> None:
    from paretoken.report.html import write_report
    from paretoken.report.terminal import last_screen
    from paretoken.study.file import REPORT_FILE
    from paretoken.study.studies import stored_result

    result = stored_result(folder)
    page = folder / REPORT_FILE
    if as_json:
        click.echo(json.dumps(result, indent=2, ensure_ascii=False))
    elif as_html:
        click.echo(str(write_report(result, page)))
    else:
        click.echo("\n".join(last_screen(result, report_path=str(page) if page.exists() else None)))


def show_run(home: Path, name: str, as_json: bool) -> None:
    """A run's figures, computed from its records by today's code."""
    from paretoken.metrics.summary import summarise
    from paretoken.records.store import Store
    from paretoken.records.told import told_of
    from paretoken.records.whole import whole_records
    from paretoken.report.tables import metrics_table

    stored = Store(home).run(name)
    told = told_of(stored)
    summary = summarise(whole_records(stored), load=told.load).as_json()
    document = {"run": name, **summary, "doubts": list(told.doubts)}
    if as_json:
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    print_table(metrics_table(document["metrics"], document["requests"], document["doubts"]))
