"""`paretoken measure`: one endpoint or model under one load."""

import json
from pathlib import Path
from typing import Any

import click

from paretoken.cli.output import checked_output, print_table, write_output
from paretoken.cli.price import price_of, price_option
from paretoken.cli.talk import ConsoleTalk
from paretoken.errors import UsageError


@click.command(
    epilog="Examples:\n\n  paretoken measure smollm2-135m --concurrency 4 --requests 40\n\n"
    "  paretoken measure http://127.0.0.1:8000 --rate 2 --duration 60s --json"
)
@click.argument("target", metavar="URL|MODEL")
@click.option("--model", help="The model's name behind a URL; asked for there when not given.")
@click.option("--concurrency", type=click.IntRange(1, 4096), help="A closed loop of this many streams.  [default: 1]")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="Poisson arrivals, requests a second.")
@click.option("--requests", type=click.IntRange(1, 20_000), help="How many measured requests.  [default: 100]")
@click.option("--duration", metavar="TIME", help="Instead of --requests: for how long, for example 60s or 5m.")
@click.option("--output-tokens", type=click.IntRange(1, 32_768), default=64, show_default=True)
@click.option("--input-tokens", type=click.IntRange(1, 131_072), help="Synthetic prompts of about this length.")
@click.option(
    "--warmup", type=click.IntRange(0, 4096), help="Requests before the measured ones.  [default: one a stream]"
)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="An engine setting, for a MODEL.")
@click.option("--slo", metavar="LIMITS", help='For goodput: what must hold, such as "p95 ttft < 2s, p95 tpot < 100ms".')
@price_option
@click.option("--protocol", default="openai-chat-sse", show_default=True)
@click.option("--api-key-env", metavar="NAME", help="Environment variable with the key.  [default: OPENAI_API_KEY]")
@click.option("--no-text", is_flag=True, help="Keep no prompt and no answer on disk.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--output", type=click.Path(path_type=Path), help="Also write the JSON document to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")
@click.pass_context
def measure(ctx: click.Context, /, target: str, settings: tuple[str, ...], **options: Any) -> int:
    """Measure latency, throughput and utilisation, each with its interval, and say when not to believe them."""
    output: Path | None = options["output"]
    checked_output(output)  # before anything is sent
    from paretoken.study.measure import measure as run_measure
    from paretoken.study.target import is_url
    from paretoken.units import parse_duration_s

    if settings and is_url(target):
        raise UsageError(
            f"--set {settings[0]} is for a model that is started here; '{target}' runs already: leave it out"
        )

    found = run_measure(
        target,
        model=options["model"],
        concurrency=options["concurrency"],
        rate_per_s=options["rate"],
        requests=options["requests"],
        duration_s=None if options["duration"] is None else parse_duration_s(options["duration"]),
        output_tokens=options["output_tokens"],
        input_tokens=options["input_tokens"],
        warmup=options["warmup"],
        protocol=options["protocol"],
        api_key_env=options["api_key_env"],
        settings=settings_of(settings),
        slo=options["slo"],
        price=price_of(options["price_per_hour"]),
        keep_text=not options["no_text"],
        seed=options["seed"],
        home=ctx.obj["home"],
        talk=ConsoleTalk(),
    )
    document = found.as_json()
    try:
        write_output(output, document)
    finally:  # a file that cannot be written costs nobody the figures
        if options["as_json"]:
            click.echo(json.dumps(document, indent=2, allow_nan=False))
        else:
            show(document, [held.sentence() for held in found.slo])
    return 0 if found.believed else 3


def show(document: dict[str, Any], slo: list[str]) -> None:
    from rich.text import Text

    from paretoken.report.server_table import server_lines
    from paretoken.report.tables import metrics_table

    print_table(metrics_table(document["metrics"], document["requests"], document["doubts"]))
    if lines := server_lines(document):
        print_table(Text("\n".join(lines)))
    for line in slo:
        click.echo(line)
    click.echo(f"Run {document['run']}: paretoken replay {document['run']}")


def settings_of(words: tuple[str, ...]) -> dict[str, Any]:
    """'slots=4' → {"slots": 4}. Raises UsageError for what is no NAME=VALUE."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"'{word}' is no setting; write NAME=VALUE, for example --set slots=4")
        try:
            found[name] = json.loads(value)
        except (ValueError, RecursionError):
            found[name] = value  # a word such as 'auto'
    return found
