"""One run's three families of figures, latency, throughput, utilisation; then the 100 ms line and the doubts.

Enters the JSON of metrics/summary.py; leaves a rich renderable. A figure that is not known says why. Knows no run and
no file.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from paretoken.report.figures import (
    COST,
    PRICED,
    Figure,
    Show,
    cost_of,
    currency_of,
    mapping,
    number,
    plain,
    quantile,
    rows,
    scalar,
    show_bracket,
    show_cost,
    show_interval,
    show_ms,
    show_number,
    show_rate,
    show_seconds,
)
from paretoken.report.reading import FIRST_WORD, PER_TOKEN
from paretoken.units import show_percent

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

LINE_MS = 100.0  # what people expect of an application
_STATS = ("p50", "p95", "p99", "max")

LATENCIES = (
    ("first word from due", FIRST_WORD),
    ("first word from sent", "ttft_ms"),
    ("per token", PER_TOKEN),
    ("gap between chunks", "itl_ms"),
    ("whole answer", "e2e_ms"),
)


def _show_requests(value: float) -> str:
    return f"{show_number(value)} requests/s"


THROUGHPUTS: tuple[tuple[str, str, Show], ...] = (
    ("output", "output_tok_s", show_rate),
    ("input and output", "total_tok_s", show_rate),
    ("one user sees", "tok_s_per_user", show_rate),
    ("requests", "req_s", _show_requests),
    ("within the SLO", "goodput_share", show_percent),
    ("good requests", "goodput_req_s", _show_requests),
)
UTILISATIONS: tuple[tuple[str, str, Show], ...] = (
    ("memory bandwidth (MBU)", "mbu", show_percent),
    ("arithmetic (MFU)", "mfu", show_percent),
    ("cost of a million tokens", COST, show_seconds),
)


def metrics_table(
    metrics: Mapping[str, Any], requests: Mapping[str, Any], doubts: Sequence[Mapping[str, Any]]
) -> "Group":
    """What `measure` shows. `metrics`, `requests` and `doubts` are the members of its JSON document."""
    from rich.columns import Columns
    from rich.console import Group
    from rich.text import Text

    families = [_scalars("Throughput", THROUGHPUTS, metrics), _scalars("Utilisation", UTILISATIONS, metrics)]
    notes = [*line_of_100_ms(metrics), *reasons_of(metrics), requests_line(requests)]
    return Group(
        _latencies(metrics),
        Text(),
        Columns(families, padding=(0, 1)),
        Text(),
        *(Text(note) for note in notes),
        *(Text(line) for doubt in rows(list(doubts)) for line in doubt_lines(doubt)),
    )


def _latencies(metrics: Mapping[str, Any]) -> "Table":
    table = _table("Latency", ("median", "95 % interval", "p95", "p99", "longest", "≤ 100 ms"))
    for name, key in LATENCIES:
        if key in metrics:
            figures = [quantile(metrics, key, stat) for stat in _STATS]
            median, *others = figures
            inside = "–" if median.value is None else "yes" if median.value <= LINE_MS else "no"
            _add(table, name, [_or_dash(median), show_interval(median, show_ms), *map(_or_dash, others), inside])
    return table


def _scalars(title: str, wanted: Iterable[tuple[str, str, Show]], metrics: Mapping[str, Any]) -> "Table":
    table = _table(title, ("value (95 %)",))
    for name, key, show in wanted:
        if key in metrics or (key == COST and PRICED in metrics):
            shown = show_cost(currency_of(metrics)) if key == COST else show
            _add(table, name, [show_bracket(_figure(metrics, key), shown)])
    return table


def _figure(metrics: Mapping[str, Any], key: str) -> Figure:
    return cost_of(metrics) if key == COST else scalar(metrics, key)


def _table(title: str, columns: Iterable[str]) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(title, header_style="bold", no_wrap=True)
    for column in columns:
        # When it is narrow it wraps: a number that is cut would be another number.
        table.add_column(column, justify="right", overflow="fold")
    return table


def _add(table: "Table", name: str, cells: Iterable[str]) -> None:
    from rich.text import Text

    # Text, not str: a str would be read as markup.
    table.add_row(Text(name), *(Text(cell) for cell in cells))


def _or_dash(figure: Figure) -> str:
    return "–" if figure.value is None else show_ms(figure.value)


def reasons_of(metrics: Mapping[str, Any]) -> list[str]:
    """Why a figure of the tables is not known, each reason once."""
    found: dict[str, list[str]] = {}
    for name, key in LATENCIES:
        for reason in mapping(mapping(metrics.get(key)).get("reasons")).values():
            found.setdefault(plain(reason), []).append(name)
    for name, key, _ in (*THROUGHPUTS, *UTILISATIONS):
        figure = _figure(metrics, key)
        if key in metrics and not figure.known and figure.reason:
            found.setdefault(figure.reason, []).append(name)
    return [f"Not known: {reason} ({', '.join(names)})" for reason, names in found.items()]


def line_of_100_ms(metrics: Mapping[str, Any]) -> list[str]:
    """How much of an answer fits into 100 ms: 1 + (100 ms − ttft)/tpot tokens, none if the first word comes later."""
    first, each = quantile(metrics, FIRST_WORD, "p50").value, quantile(metrics, PER_TOKEN, "p50").value
    if first is None:
        return []
    if first > LINE_MS:
        return [f"100 ms: no token arrives within it; the first word alone takes {show_ms(first)} (median)"]
    if not each:
        return [f"100 ms: the first word arrives within it ({show_ms(first)}, median)"]
    count = 1 + int((LINE_MS - first) / each)
    verb = "token arrives" if count == 1 else "tokens arrive"
    return [f"100 ms: {count} {verb} within it at the median's pace"]


def requests_line(requests: Mapping[str, Any]) -> str:
    names = ("scheduled", "ok", "failed", "cancelled", "lost")
    counts = [(number(requests.get(name)), name) for name in names]
    return "Requests: " + ", ".join(f"{count:.0f} {name}" for count, name in counts if count is not None)


def doubt_lines(doubt: Mapping[str, Any]) -> list[str]:
    """What was seen, why it matters, what to do."""
    name = plain(doubt.get("name")).replace("_", " ")
    why, do = plain(doubt.get("why")), plain(doubt.get("do"))
    return [f"Doubt, {name}: {plain(doubt.get('seen'))}", f"  {why}; {do}"]
