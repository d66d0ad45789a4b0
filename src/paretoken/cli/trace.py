"""`paretoken trace`: one request, live. The stream goes to stderr; what it comes to, to stdout."""

import json
from pathlib import Path

import click

from paretoken.cli.talk import ConsoleTalk


@click.command(
    epilog="Examples:\n\n  paretoken trace 'Why is the sky blue?'\n\n"
    "  paretoken trace http://127.0.0.1:8000 'Why is the sky blue?'"
)
@click.argument("words", nargs=-1, metavar="[URL|MODEL] [PROMPT]")
@click.option("--model", help="The model's name behind a URL; asked for there when not given.")
@click.option("--output-tokens", type=click.IntRange(1, 4096), default=32, show_default=True)
@click.option("--protocol", default="openai-chat-sse", show_default=True)
@click.option("--api-key-env", metavar="NAME", help="Environment variable with the key.  [default: OPENAI_API_KEY]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")
@click.pass_context
def trace(
    ctx: click.Context,
    words: tuple[str, ...],
    model: str | None,
    output_tokens: int,
    protocol: str,
    api_key_env: str | None,
    as_json: bool,
) -> None:
    """Show one request live: the wait, each token with the running total, the 100 ms line, and what explains it.

    With one argument that is no URL and no model it is the prompt, and the embedded model answers.
    """
    from paretoken.study.target import EMBEDDED_MODEL
    from paretoken.study.trace import PROMPT, NoWholeAnswer, Watcher, closing_lines
    from paretoken.study.trace import trace as run_trace

    if len(words) > 2:
        raise click.UsageError(f"'{words[2]}' is one argument too many; put the prompt into quotes")
    first = words[0] if words else None
    is_target = first is not None and (len(words) == 2 or names_a_target(first))
    target = first if is_target and first is not None else EMBEDDED_MODEL
    prompt = words[-1] if words and (len(words) == 2 or not is_target) else PROMPT
    talk = ConsoleTalk()
    watcher = Watcher(talk)
    watcher.asked(prompt)
    try:
        found = run_trace(
            target,
            prompt,
            model=model,
            output_tokens=output_tokens,
            protocol=protocol,
            api_key_env=api_key_env,
            home=ctx.obj["home"],
            on_piece=watcher,
            talk=talk,
        )
    except NoWholeAnswer as failure:
        if as_json:
            click.echo(json.dumps(failure.found.as_json(), indent=2, allow_nan=False))
        raise
    if as_json:
        watcher.summed_up(found)
        click.echo(json.dumps(found.as_json(), indent=2, allow_nan=False))
    else:
        click.echo("\n".join(closing_lines(found)))


def names_a_target(word: str) -> bool:
    """A URL, a model's name, or the path of a model file; anything else is a prompt."""
    from paretoken.models.catalogue import CATALOGUE

    return "://" in word or word in CATALOGUE or Path(word).suffix.lower() == ".gguf"
