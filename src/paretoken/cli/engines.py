"""`paretoken engines`: what can answer here, at which version, and what is missing.

Reads the registry and the table of untested engines; starts nothing.
"""

import json
from typing import Any

import click


@click.command(epilog="Examples:\n\n  paretoken engines\n\n  paretoken engines --json")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the table.")
def engines(as_json: bool) -> None:
    """What can answer here: engines with their version and what is missing; others are marked untested."""
    from paretoken.engines import ENGINES
    from paretoken.engines.untested import UNTESTED

    rows: list[dict[str, Any]] = []
    for name in ENGINES.names():
        engine = ENGINES.load(name)()
        rows.append({"name": name, "tested": True, "version": engine.version(), "missing": engine.missing()})
    if as_json:
        untested = [row.as_json() for row in UNTESTED]
        click.echo(json.dumps({"schema": 1, "engines": rows, "untested": untested}, indent=1))
        return
    for row in rows:
        state = f"needs {row['missing']}" if row["missing"] else f"ready, version {row['version']['wheel']}"
        click.echo(f"{row['name']:<26} {state}")
    click.echo("\nUntested: never run by the developers; start one yourself and `paretoken measure` its address.")
    for other in UNTESTED:
        click.echo(f"{other.name:<26} {other.start}   (at once: {other.slots_flag}; speaks {other.protocol})")
