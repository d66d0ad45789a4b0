"""`paretoken replay`: what a stored capture, a run or a case file is measured as."""

import json
from pathlib import Path
from typing import Any

import click

_COLUMNS = ("request_id", "outcome", "error", "ttft_from_due_ms", "ttft_ms", "tpot_ms", "e2e_ms", "output_tokens")


@click.command(
    epilog="Examples:\n\n  paretoken replay 01JDYZ3N8Q4W6V5T2R1P0M9K7H --json\n\n  paretoken replay case.json --json"
)
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_context
def replay(ctx: click.Context, file: str, as_json: bool) -> None:
    """Read FILE again with today's code: a run's ID, a capture (its schedule.json beside it), or a case file."""
    from paretoken.records.replay import replayed

    home: Path = ctx.obj["home"] if ctx.obj else Path(".paretoken")
    answer = replayed(file, home)
    if as_json:
        # ASCII only: what a server sent must not break a terminal or a pipe of another encoding.
        click.echo(json.dumps(answer))
    elif "requests" in answer:
        click.echo(_table(answer["requests"]))
    else:
        click.echo("\n".join(f"{name:18} {_shown(value)}" for name, value in answer.items()))


def _table(requests: list[dict[str, Any]]) -> str:
    rows = [list(_COLUMNS), *([_shown(request[name]) for name in _COLUMNS] for request in requests)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _shown(value: Any) -> str:
    """One cell: text from a server is quoted, so that no control character of it reaches the terminal."""
    if isinstance(value, float):
        return f"{value:.1f}"
    text = value if isinstance(value, str) and value.isidentifier() else json.dumps(value)
    return "-" if value is None else text if len(text) <= 60 else f"{text[:57]}..."
