"""`paretoken serve`: the recommended configuration, OpenAI-compatible, until Ctrl-C."""

import os
import shlex
from pathlib import Path

import click

from paretoken.cli.sentence import for_terminal
from paretoken.errors import UsageError


@click.command(epilog="Examples:\n\n  paretoken serve\n\n  paretoken serve --port 8080")
@click.argument("study", required=False, default="")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(0, 65_535), default=8080, show_default=True, help="0: any free one.")
@click.option("--api-key-env", metavar="NAME", help="Environment variable with the key that clients must send.")
@click.pass_context
def serve(ctx: click.Context, study: str, host: str, port: int, api_key_env: str | None) -> None:
    """Run what STUDY (default: the newest) recommended. Listening beyond this machine needs a key."""
    from paretoken.engines.base import Listen
    from paretoken.engines.launch import check_bindable
    from paretoken.serve.run import serve as run_serve
    from paretoken.study.winner import winner_of

    key = os.environ.get(api_key_env) if api_key_env else None
    if api_key_env and not key:
        raise UsageError(f"the environment variable '{api_key_env}' (--api-key-env) is not set; export it with the key")
    listen = Listen(host, port, key)
    check_bindable(listen)  # before a model is perhaps made again
    winner = winner_of(ctx.obj["home"], study)
    click.echo(for_terminal(f"Starting {winner.label} (study {winner.study}) …"), err=True)

    def ready(base_urls: list[str], where: Listen) -> None:
        click.echo(f"Serving on {' and '.join(f'{url}/v1' for url in base_urls)} until Ctrl-C.", err=True)
        if len(base_urls) > 1:
            click.echo(
                "Spread the load over them: a conversation stays where it began, a new one goes to the least busy.",
                err=True,
            )
        for command in winner.commands(where):
            click.echo(f"The same by the engine's own server: {for_copying(command)}", err=True)
        click.echo("\n".join(base_urls))

    try:
        run_serve(winner, listen, on_ready=ready)
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)


def for_copying(command: list[str]) -> str:
    """A line for a shell. The user's home folder is ~, outside the quotes so that a shell knows it: the line does not
    tell who is at home where."""
    home = f"{Path.home()}/"
    return " ".join(
        f"~/{shlex.quote(word.removeprefix(home))}" if word.startswith(home) else shlex.quote(word) for word in command
    )
