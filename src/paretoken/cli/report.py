"""paretoken report: a stored study's last screen, page, document or candidates; or one run's figures or requests."""

import json
from pathlib import Path
from typing import Any

import click

from paretoken.cli.output import print_table, write_text
from paretoken.errors import UsageError


@click.command(epilog="Examples:\n\n  paretoken report\n\n  paretoken report --html")
@click.argument("study", required=False, metavar="[STUDY|RUN]")
@click.option("--html", "as_html", is_flag=True, help="Write the page again, and print where it lies.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of lines.")
@click.option(
    "--csv", "csv_path", type=click.Path(path_type=Path), help="Write a study's candidates or a run's requests here."
)
@click.option("--text", is_flag=True, help="With --csv of a run: the answers as well.")
@click.pass_obj
def report(
    obj: dict[str, Any], study: str | None, as_html: bool, as_json: bool, csv_path: Path | None, text: bool
) -> None:
    """Show a stored study (the newest, if none is named) or the figures of a run."""
    from paretoken.records.ulid import is_ulid

    home: Path = obj["home"]
    if as_html + as_json + (csv_path is not None) > 1:
        raise UsageError("--html, --json and --csv are forms of one report; choose one")
    if text and csv_path is None:
        raise UsageError("--text adds the answers to a table; name its file: --csv FILE --text")
    from paretoken.study.studies import newest_with_result

    name = newest_with_result(home) if study is None else study
    if not is_ulid(name):
        raise UsageError(f"'{name[:100]}' is not the ID of a study or a run; those are 26 letters and digits")
    if csv_path is not None:
        write_text(csv_path, table_of(home, name, text), "--csv")
        click.echo(str(csv_path))
    elif (home / "studies" / name).is_dir():
        show_study(home / "studies" / name, as_html, as_json)
    elif as_html:
        raise UsageError(f"{name} is not a study in {home}, and only a study has a page; leave out --html")
    else:
        show_run(home, name, as_json)


def table_of(home: Path, name: str, text: bool) -> str:
    """A study's candidates or a run's requests, as CSV."""
    from paretoken.records.store import Store
    from paretoken.records.whole import whole_records
    from paretoken.report.sheet import candidates_csv, requests_csv
    from paretoken.study.studies import stored_result

    if not (home / "studies" / name).is_dir():
        return requests_csv(whole_records(Store(home).run(name)), text=text)
    if text:
        raise UsageError(f"{name} is a study, whose table has no answers; leave out --text")
    return candidates_csv(stored_result(home / "studies" / name))


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
    from paretoken.metrics.cost import price_from
    from paretoken.metrics.slo import held, parse_slo, per_request
    from paretoken.metrics.summary import summarise
    from paretoken.records.store import Store
    from paretoken.records.told import told_of
    from paretoken.records.whole import whole_records
    from paretoken.report.tables import metrics_table

    stored = Store(home).run(name)
    told = told_of(stored)
    limits = () if told.slo is None else parse_slo(told.slo)
    price = None if told.price is None else price_from(told.price)
    summary = summarise(whole_records(stored), load=told.load, slo=per_request(limits), price=price).as_json()
    slo = held(limits, summary["metrics"])
    document = {"run": name, **summary, "slo": [limit.as_json() for limit in slo], "doubts": list(told.doubts)}
    if as_json:
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    print_table(metrics_table(document["metrics"], document["requests"], document["doubts"]))
    for limit in slo:
        click.echo(limit.sentence())
