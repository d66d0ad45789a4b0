"""The command `paretoken`: finds the verb, and turns what went wrong into one sentence and an exit status.

Enters argv; leaves an exit status (0 done and believed, 1 a user's error, 2 usage, 3 measured but not believed, 4 a
regression). A verb's module is imported only when that verb is called, so `--help` stays light.
"""

import os
import signal
import sys
from importlib import import_module
from pathlib import Path

import click

from paretoken import __version__
from paretoken.errors import ParetokenError, UsageError

# verb → (module, one line for --help); the line stands here so that --help imports no verb.
VERBS = {
    "optimize": ("optimize", "Find the fastest, cheapest configuration whose answers stay the same."),
    "measure": ("measure", "Measure an endpoint or a model: latency, throughput, utilisation."),
    "trace": ("trace", "Show one request live, token by token, against the 100 ms line."),
    "verify": ("verify", "How far does one model's behaviour lie from another's?"),
    "quantize": ("quantize", "Make a smaller model of another number type."),
    "serve": ("serve", "Run the recommended configuration, OpenAI-compatible."),
    "report": ("report", "Show a stored study or run again."),
    "replay": ("replay", "Read a capture or a case file again: what is it measured as?"),
    "techniques": ("techniques", "What can be changed, on which level, at which risk."),
    "engines": ("engines", "What can answer here."),
    "models": ("models", "What can be asked here: list, fetch, show."),
    "machine": ("machine", "This machine's limits, measured."),
}


class LazyGroup(click.Group):
    """A group that knows its verbs' names and help lines, and imports a verb only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module = import_module(f"paretoken.cli.{VERBS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(name, text) for name, (_, text) in VERBS.items()])


@click.group(cls=LazyGroup, epilog="Examples:\n\n  paretoken optimize\n\n  paretoken trace 'Why is the sky blue?'")
@click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(".paretoken"),
    show_default=True,
    help="Where runs and studies are kept.",
)
@click.version_option(__version__, prog_name="paretoken")
@click.pass_context
def cli(ctx: click.Context, home: Path) -> None:
    """Make a language model answer sooner and cost less, and prove it."""
    ctx.obj = {"home": home}


def refuse_keys(arguments: list[str]) -> None:
    """A key on the command line ends up in shell history and process lists. The sentence does not repeat it."""
    for argument in arguments:
        if argument in ("--api-key", "--key", "--token") or argument.startswith(("--api-key=", "--key=", "--token=")):
            raise UsageError(
                "a key is never taken from the command line; put it into the environment (OPENAI_API_KEY, "
                "or another variable named by --api-key-env)"
            )


def main(arguments: list[str] | None = None) -> None:
    """Entry point. Never returns; exits with the status of errors.py."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        refuse_keys(arguments)
        status = cli.main(args=arguments, prog_name="paretoken", standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(_interrupted())
    except KeyboardInterrupt:
        sys.exit(_interrupted())
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except ParetokenError as error:
        click.echo(f"paretoken: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of our stdout went away (`| head`): not an error of ours, and nothing is left to be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    sys.exit(status if isinstance(status, int) else 0)


def _interrupted() -> int:
    click.echo("paretoken: interrupted", err=True)
    return 128 + signal.SIGINT
