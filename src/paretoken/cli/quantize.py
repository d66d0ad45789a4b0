"""`paretoken quantize`: a model in another number type, made once."""

import json
import shutil
from pathlib import Path

import click

from paretoken.core.candidate import Model
from paretoken.errors import UsageError, writing
from paretoken.models.cache import put, work_dir
from paretoken.models.find import resolve
from paretoken.models.fingerprint import fingerprint
from paretoken.models.lineage import lineage_of
from paretoken.models.shown import plain, shown
from paretoken.techniques.model.quantize import TYPES, type_named
from paretoken.techniques.model.quantize import quantize as make_quantized
from paretoken.units import show_bytes


@click.command(
    epilog="Examples:\n\n  paretoken quantize smollm2-135m --to Q8_0\n\n"
    "  paretoken quantize smollm2-135m --to F16 --output smollm2-f16.gguf --json"
)
@click.argument("model")
@click.option("--to", required=True, metavar="TYPE", help=f"The number type to make: {', '.join(TYPES)}.")
@click.option("--output", type=click.Path(path_type=Path), help="Copy the file here as well (it stays in the cache).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def quantize(model: str, to: str, output: Path | None, as_json: bool) -> None:
    """Make MODEL (a name or a .gguf file) of another number type, once, and print where it lies."""
    to = type_named(to)
    _check_output(output)
    base = resolve(model, say=lambda line: click.echo(line, err=True))
    if not as_json:
        click.echo(f"making {to} of {shown(base.name)}, or finding it made", err=True)
    made = make_quantized(base, to)
    path = Path(made.path) if output is None else _copied(made, output)
    note = lineage_of(made)
    if as_json:
        answer = {"path": str(path), "bytes": made.bytes, "fingerprint": made.fingerprint, "lineage": note}
        click.echo(json.dumps(answer, indent=1))
        return
    if note is not None:
        said = f"{note['result'].get('label')}, {show_bytes(made.bytes)}; {note['result'].get('note')}"
        click.echo(plain(said), err=True)
    click.echo(path)


def _check_output(output: Path | None) -> None:
    """Looked at before the work: a result that cannot be written would be found out minutes later."""
    if output is None:
        return
    if output.suffix.lower() != ".gguf":
        raise UsageError(f"--output '{output}' does not end in .gguf, by which it is known as a model; name it so")
    if not output.absolute().parent.is_dir():
        raise UsageError(f"the folder of --output '{output}' does not exist; create it first")


def _copied(made: Model, output: Path) -> Path:
    """The made file under the name that was asked for; a file that is there already is never overwritten."""
    output = output.absolute()
    if output.exists():
        if output.is_file() and fingerprint(output) == made.fingerprint:
            return output
        raise UsageError(f"--output '{output}' exists and is another file; remove it or name another")
    with work_dir(output.parent) as work:
        with writing(output, f"name another --output; the model itself is made: {shown(made.path)}"):
            shutil.copyfile(made.path, work / output.name)
        put(work / output.name, output)
    return output
