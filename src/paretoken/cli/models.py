"""`paretoken models`: what can be asked here (list), bring it (fetch), and what a file says of itself (show)."""

import json
from typing import Any

import click

from paretoken.errors import ModelError
from paretoken.models.catalogue import CATALOGUE
from paretoken.models.dimensions import dimensions
from paretoken.models.fetch import cached, fetch
from paretoken.models.find import resolve
from paretoken.models.gguf_header import read_header
from paretoken.models.lineage import all_made, lineage_of
from paretoken.models.shown import plain, shown
from paretoken.units import show_bytes

as_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.group(epilog="Examples:\n\n  paretoken models list\n\n  paretoken models show smollm2-135m")
def models() -> None:
    """What can be asked here: list, fetch, show."""


@models.command("list", epilog="Examples:\n\n  paretoken models list\n\n  paretoken models list --json")
@as_json_option
def list_models(as_json: bool) -> None:
    """The models that are known by name, and those that were made from them here."""
    known = [_known(name) for name in sorted(CATALOGUE)]
    made = [_made(note) for note in all_made()]
    if as_json:
        click.echo(json.dumps({"models": known, "made": made}, indent=1))
        return
    for model in known:
        place = model["path"] or f"not here yet; run 'paretoken models fetch {model['name']}'"
        click.echo(
            f"{model['name']}  {show_bytes(model['bytes'])}  {model['licence']}  {model['about']}\n  {plain(place)}"
        )
    for model in made:
        click.echo(f"{shown(str(model['base']))} → {shown(str(model['type']))}  {_size(model['bytes'])}")
        click.echo(f"  {plain(model['path'])}")


@models.command(
    "fetch", epilog="Examples:\n\n  paretoken models fetch smollm2-135m\n\n  paretoken models fetch --json smollm2-135m"
)
@click.argument("name")
@as_json_option
def fetch_model(name: str, as_json: bool) -> None:
    """Bring the model NAME into the cache. A second call touches no network."""
    published = CATALOGUE.get(name)
    if published is None:
        raise ModelError(f"there is no model '{shown(name)}' to fetch; there are: {', '.join(CATALOGUE)}")
    path = fetch(published, say=lambda line: click.echo(line, err=True))
    if as_json:
        click.echo(json.dumps({**_known(name), "path": str(path)}, indent=1))
    else:
        click.echo(path)


@models.command(
    "show", epilog="Examples:\n\n  paretoken models show smollm2-135m\n\n  paretoken models show --json smollm2-135m"
)
@click.argument("name")
@as_json_option
def show_model(name: str, as_json: bool) -> None:
    """What the model NAME (or a .gguf file) says of itself, read from its header alone."""
    facts = _facts(name)
    if as_json:
        click.echo(json.dumps(facts, indent=1))
        return
    for key, value in facts.items():
        if isinstance(value, int):
            click.echo(f"{key:24} {value:,}")
        elif isinstance(value, str):
            click.echo(f"{key:24} {plain(value) if key == 'path' else shown(value)}")
    if facts["lineage"]:
        base, note = facts["lineage"]["base"].get("name"), facts["lineage"]["result"].get("note")
        click.echo(f"{'made from':24} {shown(str(base))}; {shown(str(note))}")


def _size(count: Any) -> str:
    """A note may have been damaged: then its size is unknown."""
    return show_bytes(count) if isinstance(count, int) else "unknown size"


def _known(name: str) -> dict[str, Any]:
    published = CATALOGUE[name]
    path = cached(published)
    return {
        "name": name,
        "about": published.about,
        "licence": published.licence,
        "bytes": published.bytes,
        "fingerprint": published.sha256,
        "path": None if path is None else str(path),
    }


def _made(note: dict[str, Any]) -> dict[str, Any]:
    return {
        "base": note["base"].get("name"),
        "technique": note.get("technique"),
        "type": note["result"].get("label"),
        "bytes": note["file"].get("bytes", 0),
        "fingerprint": note["file"].get("sha256"),
        "path": note["path"],
    }


def _facts(name: str) -> dict[str, Any]:
    model = resolve(name, fetch_missing=False)
    header = read_header(model.path)
    sizes = dimensions(header)
    return {
        "name": model.name,
        "title": str(header.metadata.get("general.name", "")) or None,
        "licence": str(header.metadata.get("general.license", "")) or None,
        "architecture": sizes.architecture,
        "parameters": sizes.parameters,
        "layers": sizes.layers,
        "d_model": sizes.d_model,
        "heads": sizes.heads,
        "kv_heads": sizes.kv_heads,
        "context_tokens": sizes.context_tokens,
        "vocabulary": sizes.vocabulary,
        "type": sizes.label,
        "mix": {kind: round(share, 4) for kind, share in sizes.mix},
        "bytes": model.bytes,
        "weight_bytes_per_step": sizes.weight_bytes_per_step,
        "kv_bytes_per_token_f16": sizes.kv_bytes_per_token("f16"),
        "fingerprint": model.fingerprint,
        "path": model.path,
        "lineage": lineage_of(model),
    }
