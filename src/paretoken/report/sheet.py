"""Tables for a spreadsheet: one row a request of a run, or one row a candidate of a study.

Enters Records, or a study's document; leaves CSV (RFC 4180). Each header names its unit: `_ms`, `_tokens`, `_tok_s`,
`_bytes`, `_share`. Numbers stay numbers, what is not known is an empty cell, and no text of a model, a server or a file
becomes a formula.
"""

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from paretoken.core.record import Record
from paretoken.report.figures import currency_of, mapping, rows
from paretoken.units import ms

# What a spreadsheet takes for the beginning of a formula, in ASCII and in the full width of East Asian keyboards.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_WAITS = (("ttft_from_due_p95_ms", "ttft_from_due_ms"), ("tpot_p95_ms", "tpot_ms"))

_REQUEST: dict[str, Callable[[Record], Any]] = {
    "request_id": lambda r: r.request_id,
    "session_id": lambda r: r.session,
    "turn_number": lambda r: r.turn,
    "warmup": lambda r: r.warmup,
    "outcome": lambda r: r.outcome,
    "error": lambda r: r.reply.error,
    "http_status": lambda r: r.reply.status,
    "due_ms": lambda r: ms(r.due_at),
    "started_ms": lambda r: ms(r.started_at),
    "sent_ms": lambda r: ms(r.sent_at),
    "connect_ms": lambda r: ms(r.connect_s),
    "lateness_ms": lambda r: ms(r.lateness_s),
    "ttft_from_due_ms": lambda r: ms(r.ttft_from_due_s),
    "ttft_ms": lambda r: ms(r.ttft_s),
    "ttfa_ms": lambda r: ms(r.ttfa_s),
    "tpot_ms": lambda r: ms(r.tpot_s),
    "e2e_ms": lambda r: ms(r.e2e_s),
    "wanted_output_tokens": lambda r: r.wanted_output_tokens,
    "output_tokens": lambda r: r.reply.output_tokens,
    "reasoning_tokens": lambda r: r.reply.reasoning_tokens,
    "prompt_tokens": lambda r: r.reply.prompt_tokens,
    "cached_tokens": lambda r: r.reply.cached_tokens,
    "output_chunks": lambda r: r.reply.n_chunks,
    "finish_reason": lambda r: r.reply.finish_reason,
}
_TEXT: dict[str, Callable[[Record], Any]] = {
    "answer": lambda r: r.reply.text,
    "reasoning": lambda r: r.reply.reasoning_text,
    "error_message": lambda r: r.reply.error_message,
}


def requests_csv(records: Iterable[Record], *, text: bool = False) -> str:
    """Moments count from the run's start. `text` adds what the model and the server wrote, where the run kept it."""
    columns = _REQUEST | (_TEXT if text else {})
    return _csv(list(columns), [[value(record) for value in columns.values()] for record in records])


def candidates_csv(document: Mapping[str, Any]) -> str:
    """The candidates of a study's document, by the finals where they were in them, else by screening (`phase`)."""
    found = rows(document.get("candidates"))
    currency = currency_of(mapping(mapping(document.get("baseline")).get("metrics")))
    cost, unit = ("machine_s_per_mtok", "s") if currency is None else ("cost_per_mtok", currency)
    recommended = mapping(document.get("recommended")).get("label")
    header = ["label", "phase", "state", "recommended", "on_frontier", "failed_share", "model_bytes"]
    for name in ("output_tok_s", f"cost_per_million_output_tokens_{unit}", *(name for name, _ in _WAITS)):
        header += [name, f"{name}_ci95_low", f"{name}_ci95_high"]
    cells = []
    for row in found:
        cells.append(
            [
                *(row.get(name) for name in ("label", "phase", "state")),
                row.get("label") == recommended,
                *(row.get(name) for name in ("on_frontier", "failed_share", "bytes")),
                *_figure(row.get("output_tok_s")),
                *_figure(row.get(cost)),
                *(cell for _, name in _WAITS for cell in _figure(row.get(name))),
            ]
        )
    return _csv(header, cells)


def _figure(value: object) -> tuple[Any, Any, Any]:
    """A value and the ends of its interval."""
    found = mapping(value)
    ends = found.get("ci95")
    low, high = ends if isinstance(ends, list | tuple) and len(ends) == 2 else (None, None)
    return found.get("value"), low, high


def _csv(header: Sequence[str], cells: Iterable[Sequence[Any]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerows([_cell(value) for value in row] for row in (header, *cells))
    return file.getvalue()


def _cell(value: Any) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return value if math.isfinite(value) else ""
    return _harmless(str(value))


def _harmless(text: str) -> str:
    """An apostrophe before what would be read as a formula: spreadsheets then show the text as it is. White space
    before it is looked through, since some drop it."""
    begins = text.lstrip()
    return f"'{text}" if begins.startswith(_FORMULA) or text.startswith(("\t", "\r", "\n")) else text
