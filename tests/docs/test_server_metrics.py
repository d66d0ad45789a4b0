"""The documented table of metrics is the one in the code."""

from pathlib import Path

from paretoken.wire.server_metrics import DIALECTS, Dialect, Metric

DOC = Path(__file__).parents[2] / "docs" / "server-metrics.md"


def _row(dialect: Dialect, metric: Metric) -> str:
    names = ", ".join(f"`{name}`" for name in metric.names)
    where = "".join(f" with {label}={value}" for label, value in metric.where)
    tried = "yes" if dialect.tried else "*untested*"
    return f"| {dialect.name} | {dialect.needs} | {tried} | {metric.name}, {metric.kind} | {names}{where} |"


def table() -> str:
    return "\n".join(_row(dialect, metric) for dialect in DIALECTS for metric in dialect.metrics)


def test_the_table_of_metrics_is_the_code_s() -> None:
    documented = DOC.read_text().partition("|---|---|---|---|---|\n")[2].partition("\n<!-- end")[0]
    assert documented == table()
