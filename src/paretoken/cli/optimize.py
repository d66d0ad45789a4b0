"""`paretoken optimize`: the main job. Talk on stderr, twelve lines (or one document) on stdout."""

import json
from pathlib import Path
from typing import Any

import click

from paretoken.cli.output import checked_output, write_output
from paretoken.cli.price import price_of, price_option
from paretoken.cli.talk import ConsoleTalk
from paretoken.core.objective import GOALS
from paretoken.errors import DiskError, MissingExtraError, UsageError

# The names of study/objectives.py, which a help text is too light to import.
PURPOSE_NAMES = ["chat", "voice", "autocomplete", "batch"]


@click.command(
    epilog="Examples:\n\n  paretoken optimize\n\n  paretoken optimize smollm2-135m --for chat --concurrency 4"
)
@click.argument("model", required=False, metavar="[MODEL]")
@click.option("--concurrency", type=click.IntRange(1, 256), default=8, show_default=True, help="Streams at once.")
@click.option("--output-tokens", type=click.IntRange(2, 4096), default=32, show_default=True, help="Of each answer.")
@click.option("--for", "purpose", type=click.Choice(PURPOSE_NAMES), help="A named SLO and goal.")
@click.option("--slo", metavar="LIMITS", help='What must hold, such as "p95 ttft < 2s, p95 tpot < 100ms".')
@click.option(
    "--goal",
    type=click.Choice(list(GOALS)),
    help="What to improve inside the SLO.  [default: cost]",
)
@click.option("--behaviour", metavar="LIMIT", default="kld < 0.01", show_default=True, help="How far answers may move.")
@click.option("--budget", metavar="TIME|N trials", help="Kept; such as 8m or '12 trials'.  [default: about 8m]")
@click.option(
    "--workload", type=click.Choice(["chat", "copying"]), default="chat", show_default=True, help="What is asked."
)
@click.option(
    "--strategy",
    type=click.Choice(["racing", "random", "grid", "halving", "tpe"]),
    default="racing",
    show_default=True,
    help="What says which candidate is tried next.",
)
@price_option
@click.option(
    "--resume", is_flag=False, flag_value="", metavar="[ID]", help="Go on with a study; the newest without ID."
)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True)
@click.option("--output", type=click.Path(path_type=Path), help="Also write the JSON document to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")
@click.pass_context
def optimize(ctx: click.Context, /, model: str | None, **options: Any) -> int:
    """Find the fastest, cheapest configuration whose answers stay the same, and prove it.

    Without MODEL it works on the embedded model and engine. Ctrl-C ends the search and reports what is known.
    """
    if model is not None and options["resume"] is not None:
        raise UsageError("a study is resumed with the model and the settings that it was begun with; leave MODEL out")
    output: Path | None = options["output"]
    checked_output(output)
    home: Path = ctx.obj["home"]
    from paretoken.study.optimize import optimize as run_optimize
    from paretoken.study.target import EMBEDDED_MODEL
    from paretoken.verification.behaviour import parse_margin

    try:
        study = run_optimize(
            model or EMBEDDED_MODEL,
            concurrency=options["concurrency"],
            output_tokens=options["output_tokens"],
            budget=options["budget"],
            strategy=options["strategy"],
            workload=options["workload"],
            purpose=options["purpose"],
            slo=options["slo"],
            goal=options["goal"],
            behaviour_margin_nat=parse_margin(options["behaviour"]),
            price=price_of(options["price_per_hour"]),
            resume=options["resume"],
            seed=options["seed"],
            home=home,
            talk=ConsoleTalk(),
        )
    except DiskError as error:
        raise DiskError(f"{error}; what was finished is kept: go on with paretoken optimize --resume") from error
    page: str | None = None
    try:
        write_output(output, study.document)
        page = write_page(study.document, study.folder)
    finally:  # a file that cannot be written costs nobody the result of minutes
        show(study.document, page, as_json=options["as_json"])
    return 0 if study.recommended is not None else 3


def show(document: dict[str, Any], page: str | None, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(document, indent=2, allow_nan=False))
        return
    from paretoken.report.terminal import last_screen

    for line in last_screen(document, report_path=page):
        click.echo(line)


def write_page(document: dict[str, Any], folder: Path) -> str | None:
    """The HTML page beside the result; its path, or None (and one sentence) without the extra `report`."""
    from paretoken.report.html import write_report
    from paretoken.study.file import REPORT_FILE

    try:
        return str(write_report(document, folder / REPORT_FILE))
    except MissingExtraError as error:
        click.echo(f"No page was written: {error}", err=True)
        return None
