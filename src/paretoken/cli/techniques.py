"""`paretoken techniques`: the map of what can be changed, on which level, at which risk."""

import json

import click

from paretoken.techniques import TECHNIQUES
from paretoken.techniques.base import described


@click.command(epilog="Examples:\n\n  paretoken techniques\n\n  paretoken techniques --json")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def techniques(as_json: bool) -> None:
    """What can be changed: the level, what it may change, how that is proved, what it needs and risks."""
    rows = sorted((described(TECHNIQUES.load(name)()) for name in TECHNIQUES.names()), key=lambda row: row["level"])
    if as_json:
        click.echo(json.dumps({"techniques": rows}, indent=1))
        return
    for row in rows:
        click.echo(f"{row['name']}  ({row['level']} level)")
        for key in ("may_change", "proof", "needs", "risk"):
            click.echo(f"  {key.replace('_', ' '):11} {row[key]}")
        click.echo(f"  {'engines':11} {', '.join(row['engines'])}")
