from typing import Any

from rich.console import Console

from paretoken.report.tables import line_of_100_ms, metrics_table, reasons_of, requests_line
from tests.report.sample import BASELINE, metrics, requests, sample


def shown(figures: dict[str, Any], doubts: list[dict[str, Any]] | None = None, width: int = 100) -> str:
    console = Console(width=width, highlight=False)
    with console.capture() as capture:
        console.print(metrics_table(figures, requests(), doubts or []))
    return capture.get()


def test_all_three_families_and_the_100_ms_line_stand_together() -> None:
    text = shown(metrics(BASELINE.label))
    for words in ("Latency", "Throughput", "Utilisation", "≤ 100 ms", "100 ms: no token arrives within it"):
        assert words in text
    assert "44.1 tok/s (42.8 to 45.4)" in text
    assert "41 % (39.8 to 42.2)" in text
    assert all(len(line) <= 100 for line in text.splitlines())


def test_a_figure_that_is_not_known_says_why() -> None:
    text = " ".join(shown(metrics(BASELINE.label)).split())
    assert "not known" in text
    assert "no SLO was stated (within the SLO)" in text
    assert "p99 needs 100 requests, there were 96 (first word from due, first word from sent, per token" in text


def test_each_reason_is_said_once() -> None:
    reasons = reasons_of(metrics(BASELINE.label))
    assert len(reasons) == len(set(reasons)) == 4


def test_doubts_say_what_was_seen_why_and_what_to_do() -> None:
    text = " ".join(shown(metrics(BASELINE.label), sample()["doubts"]).split())
    assert "Doubt, host contended: load average 1.3 before 2 of 18 blocks" in text
    assert "stop the other work and repeat" in text


def test_text_from_a_server_is_not_markup() -> None:
    text = shown(
        metrics(BASELINE.label), [{"name": "x", "seen": "[red]boo[/red]\x1b[31m", "why": "[link=x]", "do": ""}]
    )
    assert "[red]boo[/red]" in text
    assert "\x1b" not in text


def test_no_number_is_cut_on_a_narrow_terminal() -> None:
    assert "…" not in shown(metrics(BASELINE.label), width=60)


def test_empty_metrics_have_a_table() -> None:
    assert "Requests: 96 scheduled" in shown({})


def test_the_100_ms_line_counts_whole_tokens() -> None:
    def pace(first: float, each: float | None) -> dict[str, Any]:
        return {"ttft_from_due_ms": {"p50": first}, "tpot_ms": {"p50": each}}

    assert "4 tokens arrive" in line_of_100_ms(pace(30, 22))[0]
    assert "1 token arrive" in line_of_100_ms(pace(99, 22))[0]
    assert "the first word alone takes 1.62 s" in line_of_100_ms(pace(1615.6, 22))[0]
    assert "arrives within it (30.0 ms" in line_of_100_ms(pace(30, None))[0]
    assert line_of_100_ms({}) == []


def test_every_request_is_accounted_for() -> None:
    assert requests_line(requests(10)) == "Requests: 10 scheduled, 10 ok, 0 failed, 0 cancelled, 0 lost"


def test_cost_is_money_where_a_price_was_given() -> None:
    figures = {
        "cost_per_mtok": {"output": {"value": 1.9, "ci95": [1.8, 2.0]}, "currency": "USD", "price_per_hour": 0.3}
    }
    assert "1.90 USD (1.80 to 2.00)" in shown(figures)
