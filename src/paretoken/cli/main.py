"""The command `paretoken`: finds the verb, and turns what went wrong into one sentence and an exit status.

Enters argv; leaves an exit status (0 done and believed, 1 a user's error, 2 usage, 3 measured but not believed, 4 a
regression). A verb's module is imported only when that verb is called, so `--help` stays light.
"""

try:
    import io
    import os
    import select
    import signal
    import sys
    from importlib import import_module
    from pathlib import Path
    from typing import IO, Any

    import click

    from paretoken.cli.sentence import cut, escaped, for_terminal
    from paretoken.errors import ParetokenError, UsageError, fix_of
    from paretoken.version import __version__
except KeyboardInterrupt:  # Ctrl-C before there is a main() to catch it
    raise SystemExit(130) from None

# verb → (module, one line for --help); the line stands here so that --help imports no verb.
VERBS = {
    "optimize": ("optimize", "Find the fastest, cheapest configuration whose answers stay the same."),
    "measure": ("measure", "Measure an endpoint or a model: latency, throughput, utilisation."),
    "trace": ("trace", "Show one request live, token by token, against the 100 ms line."),
    "verify": ("verify", "How far does one model's behaviour lie from another's?"),
    "quantize": ("quantize", "Make a model of another number type."),
    "serve": ("serve", "Run the recommended configuration, OpenAI-compatible."),
    "report": ("report", "Show a stored study or run again."),
    "replay": ("replay", "Read a capture or a case file again: what is it measured as?"),
    "techniques": ("techniques", "What can be changed, on which level, at which risk."),
    "engines": ("engines", "What can answer here."),
    "models": ("models", "What can be asked here: list, fetch, show."),
    "machine": ("machine", "This machine's limits, measured."),
}


class _PipeBroke(Exception):
    """A BrokenPipeError that click shall not turn into its own exit status."""


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

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        try:
            return super().make_context(*arguments, **more)
        except BrokenPipeError as error:
            raise _PipeBroke from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _PipeBroke from error

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


def refuse_bytes(arguments: list[str]) -> None:
    """What is not UTF-8 arrives as lone surrogates, which no file of ours and no request could hold."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"the argument '{cut(escaped(argument), 80)}' is not UTF-8; write it in UTF-8") from error


def main(arguments: list[str] | None = None) -> None:
    """Entry point. Never returns; exits with the status of errors.py."""
    arguments = sys.argv[1:] if arguments is None else arguments
    signal.signal(signal.SIGTERM, _terminated)
    try:
        status = _exit_status(arguments)
    except KeyboardInterrupt as error:
        status = _interrupted(error)
    except RuntimeError as error:
        # Python 3.11 wraps a Ctrl-C in the middle of numpy's import.
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        status = _interrupted()
    sys.exit(status)


class _Terminated(KeyboardInterrupt):
    """SIGTERM. Whatever tidies up after Ctrl-C tidies up after this: what was measured is kept, what was not to be kept
    goes, no process stays."""


def _terminated(*_: object) -> None:
    raise _Terminated


def _exit_status(arguments: list[str]) -> int:
    try:
        _open_standard_streams()
        if sys.stdout is None:
            return _said("stdout is closed: there is nowhere for a result to go; send it to a file or to /dev/null")
        refuse_keys(arguments)
        refuse_bytes(arguments)
        status = cli.main(args=arguments, prog_name="paretoken", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort:
        return _interrupted()
    except click.ClickException as error:
        return _refused(error)
    except ParetokenError as error:
        return _said(str(error), error.exit_code)
    except (_PipeBroke, BrokenPipeError) as error:
        # The reader of our stdout went away (`| head`): not an error of ours, and nothing is left to be said.
        gone = _reader_gone(sys.stdout)
        _silence(sys.stdout, sys.stderr if _reader_gone(sys.stderr) else None)
        return 0 if gone else _said(f"a connection to another process broke ({type(error).__name__}); try again")
    except OSError as error:
        return _system_refused(error)
    return status if isinstance(status, int) else 0


def _refused(error: click.ClickException) -> int:
    """What click says of a command line, with the words of that line made harmless."""
    text = io.StringIO()
    error.show(file=text)
    lines = text.getvalue().rstrip("\n").split("\n")
    click.echo("\n".join(cut(escaped(line), 2_000) for line in lines), err=True)
    return error.exit_code


def _system_refused(error: OSError) -> int:
    """Whatever the system refused and nobody put into a better sentence: a path's name, a full disk."""
    reason = error.strerror or str(error) or type(error).__name__
    try:
        sys.stdout.flush()
    except OSError:  # what could not be written still waits there, and would fail once more at exit
        _silence(sys.stdout)
    if error.filename is None:  # a write then, most often to stdout
        return _said(f"the output cannot be written: {reason}; make room, or send stdout elsewhere")
    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(error.filename)
    return _said(f"'{cut(name, 200)}' cannot be used: {reason}; {fix_of(error, 'name another one')}")


def _said(sentence: str, status: int = 1) -> int:
    click.echo(f"paretoken: {for_terminal(sentence)}", err=True)
    return status


def _open_standard_streams() -> None:
    """A closed 0, 1 or 2 would be given to the next file that is opened, and an engine's log would end up in it."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one


def _reader_gone(stream: IO[str] | None) -> bool:
    if stream is None:
        return False
    poll = select.poll()
    poll.register(stream.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _silence(*streams: IO[str] | None) -> None:
    """What still waits in them is dropped at exit, instead of failing there once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        if stream is not None:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _interrupted(error: KeyboardInterrupt | None = None) -> int:
    click.echo("paretoken: interrupted", err=True)
    return 128 + (signal.SIGTERM if isinstance(error, _Terminated) else signal.SIGINT)
