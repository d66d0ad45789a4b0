"""The server's own figures beside ours, and what this machine spent: a few lines below a measurement's tables.

Enters the members `server` and `host` of measure's JSON document; leaves plain lines. What is not known takes no line
here: the document has the reason.
"""

from collections.abc import Mapping
from typing import Any

from paretoken.report.figures import mapping, number, plain, rows, show_ms
from paretoken.units import show_bytes

_WORDS = {
    "requests": "requests",
    "output_tokens": "output tokens",
    "prompt_tokens": "prompt tokens",
    "prompt_tokens_computed": "prompt tokens computed",
    "ttft_ms": "first word",
    "itl_ms": "gap between chunks",
    "tpot_ms": "per token",
    "e2e_ms": "whole answer",
    "e2e_by_answers_ms": "whole answer, by the answers",
    "queue_ms": "in its queue",
    "prefill_ms": "prefill (ours: first word)",
    "decode_ms": "decode (ours: first to last chunk)",
}
_NAMES = {"vllm": "vLLM", "sglang": "SGLang", "tgi": "TGI", "triton": "Triton"}


def _show_count(value: float) -> str:
    return f"{value:,.0f}"


def server_lines(document: Mapping[str, Any]) -> list[str]:
    """Means and counts of the measured requests, server / ours."""
    server, host = mapping(document.get("server")), mapping(document.get("host"))
    return [*_beside(server), *_host(host)]


def _beside(server: Mapping[str, Any]) -> list[str]:
    pairs = []
    for row in rows(server.get("beside") or []):
        word, theirs, ours = _WORDS.get(plain(row.get("name"))), number(row.get("server")), number(row.get("ours"))
        if word is not None and theirs is not None:
            show = show_ms if plain(row.get("name")).endswith("_ms") else _show_count
            pairs.append(f"{word} {show(theirs)} / {'–' if ours is None else show(ours)}")
    if not pairs:
        return []
    kind = plain(server.get("name"))
    said = f"The server's own figures ({_NAMES.get(kind, kind)}) / ours" if server.get("name") else "The server / ours"
    return [f"{said}: {', '.join(pairs)}"]


def _host(host: Mapping[str, Any]) -> list[str]:
    engine, client, energy = (mapping(host.get(name)) for name in ("engine", "client", "energy"))
    found = []
    for name, part in (("engine", engine), ("client", client)):
        if (cores := number(part.get("cores"))) is not None:
            found.append(f"{name} {cores:.2f} cores")
    if (peak := number(engine.get("memory_peak_bytes"))) is not None:
        found.append(f"engine's memory {show_bytes(peak)} at most")
    if (joules := number(energy.get("joules"))) is not None:
        each = number(energy.get("joules_per_output_token"))
        found.append(f"processor {joules:.3g} J" + ("" if each is None else f" ({each:.3g} J an output token)"))
    for card in rows(host.get("cards") or []):
        if (joules := number(card.get("joules"))) is not None:
            each = number(card.get("joules_per_output_token"))
            shown = "" if each is None else f" ({each:.3g} J an output token)"
            found.append(f"{plain(card.get('name'))} {joules:.3g} J{shown}")
    whole = "the whole run" in plain(host.get("window"))
    when = "in the whole run" if whole else "while requests were measured"
    return [f"This machine {when}: {', '.join(found)}"] if found else []
