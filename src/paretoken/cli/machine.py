"""paretoken machine: this machine's cores, quota, memory and measured limits, and what they mean for a model."""

import json
from typing import TYPE_CHECKING, Any

import click

from paretoken.units import show_bytes, show_duration

if TYPE_CHECKING:
    from paretoken.machine.limits import Limits


@click.command(epilog="Examples:\n\n  paretoken machine\n\n  paretoken machine --json")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of lines.")
def machine(as_json: bool) -> None:
    """Measure this machine's limits: read bandwidth and FLOP/s, and what they mean. Takes about five seconds."""
    from paretoken.machine.contention import between, snapshot
    from paretoken.machine.describe import describe
    from paretoken.machine.limits import limits

    before = snapshot()
    found = limits()
    contention = between(before, snapshot())
    document = {**describe(), "limits": found.as_json(), "contention": contention.as_json(), "meaning": meaning(found)}
    click.echo(json.dumps(document, indent=2, allow_nan=False) if as_json else "\n".join(lines(document)))


def meaning(limits: "Limits") -> dict[str, Any]:
    """What the limits say about the embedded model: bounds that no engine and no setting can beat."""
    from paretoken.metrics.utilisation import decode_step_bound_s
    from paretoken.models.catalogue import EMBEDDED

    step_s = decode_step_bound_s(EMBEDDED.bytes_per_decode_step, limits.read_bytes_per_s)
    return {
        "model": EMBEDDED.name,
        "bytes_per_decode_step": EMBEDDED.bytes_per_decode_step,
        "decode_step_at_least_ms": round(step_s * 1000, 3),
        "one_stream_tok_s_at_most": round(1 / step_s, 1),
    }


def lines(document: dict[str, Any]) -> list[str]:
    """The document for people."""
    limits, meant = document["limits"], document["meaning"]
    quota = document["quota_cores"]
    memory = document["memory_bytes"]
    flags = " ".join(document["flags"]) or "none known"
    step = show_duration(meant["decode_step_at_least_ms"] / 1000)
    return [
        f"cpu        {document['cpu']} ({document['architecture']}; {flags})",
        f"cores      {document['logical_cores']} visible, {document['affinity_cores']} allowed, "
        f"quota {'none' if quota is None else f'{quota:g}'} → {document['threads']} threads",
        f"memory     {'unknown' if memory is None else show_bytes(memory)}",
        f"reads      {limits['read_gb_s']:.1f} GB/s on {limits['threads']} threads, "
        f"{limits['read_gb_s_one_thread']:.1f} on one",
        f"computes   {limits['flop_s'] / 1e9:.0f} GFLOP/s (float32)",
        f"meaning    {meant['model']} reads {show_bytes(meant['bytes_per_decode_step'])} a decode step, "
        f"so a step takes at least {step}: one stream gets at most {meant['one_stream_tok_s_at_most']:.0f} tok/s;",
        "           streams answered together share a step, until its arithmetic takes longer than its reading",
        f"others     load average {_or_unknown(document['contention']['load_average'])}, "
        f"stolen {_or_unknown(document['contention']['steal_share'], 100)} %",
    ]


def _or_unknown(value: float | None, factor: float = 1.0) -> str:
    return "unknown" if value is None else f"{value * factor:.2g}"
