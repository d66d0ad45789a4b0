"""The page's tables: candidates, finals, the wait, the limits, and flat lists of nested facts.

Enters a Reading; leaves rows of strings, all of them text.
"""

from collections.abc import Mapping
from typing import Any

from paretoken.report.chart_scatter import ROLE_WORDS
from paretoken.report.choice import details
from paretoken.report.figures import (
    Show,
    cost_of,
    mapping,
    number,
    plain,
    rows,
    scalar,
    show_bracket,
    show_cost,
    show_ms,
    show_number,
    show_rate,
    show_value,
)
from paretoken.report.reading import FIRST_WORD, PER_TOKEN, RATE, REFUSED, Reading
from paretoken.report.words import size_and_speed
from paretoken.units import show_bytes, show_percent


def candidates(reading: Reading) -> list[dict[str, str]]:
    """All candidates as a table: each figure with its own statistic, since the screened have no p95."""
    base_rate, base_size = reading.figure(reading.baseline, RATE).value, reading.bytes_of(reading.baseline)
    found = []
    for row in reading.candidates:
        label = plain(row.get("label"))
        rate, size = scalar(row, RATE), number(row.get("bytes"))
        in_words = ""
        if rate.value and size and base_rate and base_size and label != reading.baseline:
            in_words = size_and_speed(rate.value / base_rate, size / base_size).partition(":")[0]
        role = REFUSED if row.get("state") == "refused" else reading.role(label)
        found.append(
            {
                "label": label,
                "role": role,
                "role_words": ROLE_WORDS[role] or plain(row.get("phase") or ""),
                "rate": show_bracket(rate, show_rate),
                "cost": show_value(cost_of(row), show_cost(reading.currency)),
                "first_word": _with_stat(row, FIRST_WORD),
                "per_token": _with_stat(row, PER_TOKEN),
                "size": show_bytes(size) if size else "",
                "in_words": in_words,
                "on_frontier": "yes" if row.get("on_frontier") is True else "no",
            }
        )
    return found


def _with_stat(row: Mapping[str, Any], name: str) -> str:
    figure, stat = scalar(row, name), mapping(row.get(name)).get("stat")
    return f"{plain(stat)} {show_bracket(figure, show_ms)}" if figure.known and stat else show_value(figure, show_ms)


def plan(reading: Reading) -> list[tuple[str, str]]:
    found = []
    for step in rows(mapping(reading.result.get("plan")).get("steps")):
        minutes = number(step.get("minutes"))
        found.append((plain(step.get("name")), "" if minutes is None else f"{minutes:.1f} min"))
    return found


def finals(reading: Reading) -> dict[str, Any]:
    """Each finalist's latency quantiles, and the order of the blocks."""
    table = []
    for label in reading.finalists:
        cells = [
            show_bracket(reading.figure(label, name, stat), show_ms)
            for name in (FIRST_WORD, PER_TOKEN, "e2e_ms")
            for stat in ("p50", "p95")
        ]
        if reading.metrics(label):
            table.append({"label": label, "role": reading.role(label), "cells": cells})
    order = mapping(reading.result.get("finals")).get("order")
    return {"rows": table, "order": [plain(label) for label in order] if isinstance(order, list) else []}


def wait(reading: Reading) -> list[dict[str, str]]:
    """t·n beside ttft + tpot·(n−1) beside what was measured, before and after."""
    found = []
    for key, label in (("baseline", reading.baseline), ("recommended", reading.recommended)):
        held = mapping(mapping(reading.result.get("wait")).get(key))
        measured = number(held.get("e2e_ms"))
        if label is None or measured is None or (key == "recommended" and label == reading.baseline):
            continue
        simple, model, inside = (
            number(held.get(name)) for name in ("textbook_ms", "two_part_ms", "tokens_within_100_ms")
        )
        found.append(
            {
                "label": label,
                "role": reading.role(label),
                "tokens": str(reading.output_tokens or ""),
                "simple": _against(simple, measured),
                "model": _against(model, measured),
                "measured": show_ms(measured),
                "inside": "" if inside is None else f"{inside:.0f}",
            }
        )
    return found


def _against(said_ms: float | None, measured_ms: float) -> str:
    """A formula's value, and how far it is from the measured one."""
    if said_ms is None or measured_ms <= 0:
        return ""
    percent = round((said_ms / measured_ms - 1) * 100)  # an int, which has no negative zero
    return f"{show_ms(said_ms)} ({percent:+d} %)"


def limits(reading: Reading) -> list[tuple[str, str]]:
    held = mapping(reading.result.get("limits"))
    shows: tuple[tuple[str, str, Show], ...] = (
        ("Memory bandwidth used (MBU)", "mbu", show_percent),
        ("Arithmetic used (MFU)", "mfu", show_percent),
        ("Read bandwidth of this machine", "read_gb_s", lambda value: f"{show_number(value)} GB/s"),
        ("Arithmetic of this machine", "flop_s", lambda value: f"{show_number(value / 1e9)} GFLOP/s"),
        ("Shortest possible step", "step_bound_ms", show_ms),
    )
    found = [(name, show_value(figure, show)) for name, key, show in shows if (figure := scalar(held, key)).known]
    said = [(name, plain(held[key])) for name, key in (("Of", "of"), ("How", "how")) if held.get(key)]
    return [*found, *said, *details(reading), *flat(held.get("reasons"))]


def flat(value: object, path: str = "") -> list[tuple[str, str]]:
    """A nested object as lines of dotted name and text."""
    if isinstance(value, Mapping):
        return [line for name, item in value.items() for line in flat(item, f"{path}.{plain(name)}".lstrip("."))]
    if isinstance(value, list | tuple):
        return [(path, ", ".join(plain(item) for item in value))]
    return [(path, "not known" if value is None else plain(value))]
