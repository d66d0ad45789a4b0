"""What was measured and judged, a fact each: speed, both waits, the SLO, the limit of the hardware, the doubts.

Enters a Reading; leaves facts that the last screen and the page both state. Each word follows a stored verdict.
"""

from collections.abc import Mapping
from typing import Any

from paretoken.report.fact import Fact
from paretoken.report.figures import (
    mapping,
    number,
    plain,
    scalar,
    show_interval,
    show_ms,
    show_number,
    show_rate,
    show_times,
    show_value,
)
from paretoken.report.reading import FIRST_WORD, PER_TOKEN, RATE, VS_BASELINE, VS_HAND, Reading
from paretoken.report.words import (
    cost_words,
    instead_of,
    latency_word,
    ratio_words,
    settle_words,
    speed_word,
)
from paretoken.units import MS_PER_S, show_duration, show_percent

_MAX_MEASURED = 4


def slo_fact(reading: Reading) -> Fact | None:
    """What became of each limit: of the recommended, else of the baseline."""
    limits = reading.slo_of(reading.recommended or reading.baseline)
    if not limits:
        return None
    name = plain(mapping(reading.result.get("objective")).get("name") or "")
    whose = "" if reading.recommended else f" of {reading.baseline}"
    return Fact(f"SLO{f' for {name}' if name else ''}{whose}", tuple(limit_words(item) for item in limits))


def limit_words(item: Mapping[str, Any]) -> str:
    """'p95 ttft 1.4 s of 2 s, met'."""
    value, limit = number(item.get("value_ms")), number(item.get("limit_ms"))
    verdict = {"met": "met", "missed": "missed"}.get(str(item.get("verdict")), "not settled")
    shown = "unknown" if value is None else show_ms(value)
    of = show_duration((limit or 0.0) / MS_PER_S)
    return f"{plain(item.get('stat'))} {plain(item.get('metric'))} {shown} of {of}, {verdict}"


def speed_facts(reading: Reading, label: str) -> list[Fact]:
    verdict = reading.effect(VS_BASELINE, RATE)
    rates = instead_of(reading.figure(label, RATE), reading.figure(reading.baseline, RATE), show_rate)
    clauses = [f"{rates}, {ratio_words(verdict)}", *settle_words(verdict)]
    if verdict.word in ("better", "worse"):
        clauses.append(cost_words(verdict.ratio))
    settled = verdict.word in ("better", "worse", "same")
    found = [Fact(speed_word(verdict).capitalize() if settled else "Speed, not settled", tuple(clauses))]
    for head, name, metric in (
        ("First word", FIRST_WORD, "ttft_from_due_p50_ms"),
        ("Each next token", PER_TOKEN, "tpot_p50_ms"),
    ):
        stats = [(reading.figure(label, name, s), reading.figure(reading.baseline, name, s)) for s in ("p50", "p95")]
        latency = reading.effect(VS_BASELINE, metric)
        words = [f"after {instead_of(*stats[0])} (median): {latency_word(latency)}, {ratio_words(latency)}"]
        if all(figure.known for figure in stats[1]):
            words.append(f"p95 {instead_of(*stats[1])}")
        found.append(Fact(head, tuple(words)))
    return found


def against_hand(reading: Reading) -> Fact | None:
    """The recommended against what an expert would try first."""
    if reading.hand is None or reading.hand == reading.baseline or reading.recommended == reading.hand:
        return None
    verdict = reading.effect(VS_HAND, RATE)
    span = show_interval(verdict.ratio, show_times) or verdict.reason or "no interval"
    clauses = [f"{speed_word(verdict)}, {show_value(verdict.ratio, show_times)} ({span})"]
    first, each = (reading.effect(VS_HAND, name) for name in ("ttft_from_due_p50_ms", "tpot_p50_ms"))
    if first.ratio.known and each.ratio.known:
        words = [f"{latency_word(wait)} {show_value(wait.ratio, show_times)}" for wait in (first, each)]
        clauses.append(f"first word {words[0]}, next {words[1]}")
    return Fact("Against the hand setting", (*clauses, *settle_words(verdict)))


def not_chosen(reading: Reading) -> list[Fact | None]:
    """Each finalist that was neither recommended nor set by hand: how it did against the one that was."""
    side = VS_BASELINE if reading.hand in (None, reading.baseline) else VS_HAND
    found: list[Fact | None] = []
    for label in _others(reading):
        verdict = reading.effect_of(label, side, RATE)
        if verdict.ratio.known:
            rate, word = show_value(reading.figure(label, RATE), show_rate), speed_word(verdict)
            against = "the baseline" if side == VS_BASELINE else "the hand setting"
            clauses = (f"{rate}; {word}, {ratio_words(verdict)}", f"against {against}", *settle_words(verdict))
            found.append(Fact(f"Not chosen, {label}", clauses, spare=2))
    return found


def _others(reading: Reading) -> list[str]:
    return [label for label in reading.finalists if label not in (reading.baseline, reading.hand, reading.recommended)]


def as_measured(reading: Reading) -> list[Fact | None]:
    """For endings without a change to name: what each finalist did, without a claim; without finals, what screening
    saw of the fastest."""
    found: list[Fact | None] = []
    for label in reading.finalists[:_MAX_MEASURED]:
        rate = reading.figure(label, RATE)
        told = label in _others(reading) and reading.effect_of(label, VS_BASELINE, RATE).ratio.known
        if rate.known and not told:
            first, each = reading.figure(label, FIRST_WORD, "p50"), reading.figure(label, PER_TOKEN, "p50")
            clauses = (
                show_value(rate, show_rate),
                f"first word after {show_value(first, show_ms)}, each next after {show_value(each, show_ms)}",
            )
            found.append(Fact(f"Measured, {label}", clauses))
    if not found:
        screened = [row for row in reading.candidates if row.get("state") == "complete"]
        fastest = sorted(screened, key=lambda row: scalar(row, RATE).value or 0.0, reverse=True)
        found = [
            Fact(f"Screened, {plain(row.get('label'))}", (show_value(scalar(row, RATE), show_rate),))
            for row in fastest[:_MAX_MEASURED]
            if scalar(row, RATE).known
        ]
    return found


def limit_fact(reading: Reading) -> Fact | None:
    """How far the hardware's limits are, and what binds the winner where the study said it."""
    limits = mapping(reading.result.get("limits"))
    binds = reading.result.get("binds")
    clauses = [plain(binds).rstrip(".")] if isinstance(binds, str) and binds.strip() else []
    mbu, mfu, prefill = (scalar(limits, name).value for name in ("mbu", "mfu", "mfu_prefill"))
    bandwidth, bound = scalar(limits, "read_gb_s").value, scalar(limits, "step_bound_ms").value
    if mbu is not None:
        of = f" ({show_number(bandwidth)} GB/s)" if bandwidth else ""
        clauses.append(f"{show_percent(mbu)} of memory bandwidth{of}")
    if mfu is not None:
        both = "" if prefill is None else f" + {show_percent(prefill)}"
        which = "" if prefill is None else " (decode + prefill)"
        clauses.append(f"{show_percent(mfu)}{both} of arithmetic{which}")
    if bound is not None:
        clauses.append(f"no step can take less than {show_ms(bound)}")
    return Fact("Limit", tuple(clauses), spare=1) if clauses else None


def wait_fact(reading: Reading) -> Fact | None:
    """The 100 ms line: how many tokens fit into it at this pace, and what a whole answer takes."""
    wait = mapping(reading.result.get("wait"))
    before = mapping(wait.get("baseline"))
    found = mapping(wait.get("recommended")) or before
    fits, fitted = number(found.get("tokens_within_100_ms")), number(before.get("tokens_within_100_ms"))
    if fits is None:
        return None
    clauses = [f"room for {fits:.0f} token{'' if fits == 1 else 's'} at this pace"]
    if fitted is not None and reading.recommended not in (None, reading.baseline):
        clauses[0] += f" (before: {fitted:.0f})"
    measured, simple = number(found.get("e2e_ms")), number(found.get("textbook_ms"))
    if measured is not None and simple is not None:
        count = f"{reading.output_tokens} tokens take" if reading.output_tokens else "an answer takes"
        clauses.append(f"{count} {show_ms(measured)}, where t·n says {show_ms(simple)}")
    return Fact("100 ms", tuple(clauses), spare=3)


def doubts_fact(reading: Reading) -> Fact | None:
    if not reading.doubts:
        return None
    first, more = reading.doubts[0], len(reading.doubts) - 1
    clauses = [f"{doubt_name(first)}: {plain(first.get('seen'))}"]
    if more:
        clauses[0] = f"{more + 1}, the gravest: {clauses[0]}"
    return Fact("Doubts", (*clauses, plain(first.get("do"))))


def doubt_name(doubt: object) -> str:
    return plain(mapping(doubt).get("name")).replace("_", " ")
