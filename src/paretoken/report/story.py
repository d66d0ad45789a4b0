"""The result of a search in sentences: one headline, and facts that the last screen and the page both state.

Enters a Reading; leaves words. Each word follows a stored verdict: "faster" only where the verdict is better, never
from two numbers that happen to differ. Where a doubt forbids a verdict there is no number in the headline.
"""

from collections.abc import Mapping
from typing import Any

from paretoken.report.answers import answers_fact, in_short, kept_answers, refused_fact, refused_rate
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
    size_and_speed,
    speed_word,
)
from paretoken.units import MS_PER_S, show_duration, show_percent

BETTER, MEETS_SLO, HAND_IS_BEST, BASELINE_IS_BEST, UNSETTLED, NOTHING, INVALID = (
    "better",
    "meets_slo",
    "hand_is_best",
    "baseline_is_best",
    "unsettled",
    "nothing",
    "invalid",
)
_MAX_MEASURED = 4


def ending(reading: Reading) -> str:
    """How the search ended, as one of seven words."""
    if reading.invalid:
        return INVALID
    if reading.recommended is None:
        return NOTHING
    if reading.recommended == reading.baseline:
        return BASELINE_IS_BEST
    if reading.recommended == reading.hand:
        return HAND_IS_BEST
    if reading.effect(VS_BASELINE, reading.deciding).word == "better":
        return BETTER
    return UNSETTLED if reading.meets_slo(reading.baseline) else MEETS_SLO


def headline(reading: Reading) -> str:
    """The result in one sentence."""
    how = ending(reading)
    if how == INVALID:
        return f"No verdict: {_why_invalid(reading)}."
    if how == NOTHING:
        binding = why(reading) if any(reading.slo_of(label) for label in reading.finalists) else None
        reason = binding or "no candidate was shown to be faster and to answer alike"
        return f"Nothing can be recommended: {reason}."
    if how == BASELINE_IS_BEST:
        return f"Keep the model as it is: {_nothing(reading)} beat the baseline beyond the interval."
    if how == HAND_IS_BEST:
        return f"The expert's setting is the best found; {_nothing(reading)} beat it beyond the interval."
    if how == MEETS_SLO:
        missed = next(item for item in reading.slo_of(reading.baseline) if item.get("verdict") != "met")
        return f"{reading.recommended} keeps the SLO, which the model as it is does not: {_limit_words(missed)}."
    verdict = reading.effect(VS_BASELINE, reading.deciding)
    if how == UNSETTLED and verdict.word in ("same", "worse"):
        return f"{reading.recommended} is {speed_word(verdict)}: {ratio_words(verdict)}."
    if how == UNSETTLED:
        return f"Not settled whether {reading.recommended} is faster: {ratio_words(verdict)}."
    improved = {"e2e_p50_ms": "the time for a whole answer", "goodput_req_s": "as many good requests a second"}
    speed = f"{show_value(verdict.ratio, show_times)} {improved.get(reading.deciding, 'as many tokens a second')}"
    return f"{reading.recommended}: {speed}, {in_short(reading)}."


def _nothing(reading: Reading) -> str:
    """What beat the recommended: a faster one that was refused, or was not shown to be alike, is not passed over."""
    best = reading.figure(reading.recommended or "", RATE).value or 0.0
    faster = any((refused_rate(reading, item).value or 0.0) > best for item in reading.refused)
    return "nothing that kept its answers" if faster or not kept_answers(reading) else "nothing"


def why(reading: Reading) -> str | None:
    """The sentence that the study gave for its choice, also for choosing nothing."""
    found = mapping(reading.result.get("recommended")).get("why") or reading.result.get("why")
    return plain(found) if found else None


def lede(reading: Reading) -> str:
    """The second sentence of the page: both waits, or why there is nothing to compare."""
    label, reason = reading.recommended, why(reading)
    if ending(reading) == INVALID:
        return "When a doubt forbids a verdict, there are no headline numbers."
    if label is None or label == reading.baseline:
        return f"{reason[:1].upper()}{reason[1:]}." if reason else ""
    waits = [
        f"{head} after {instead_of(now, before)}"
        for head, name in (("the first word", FIRST_WORD), ("each next token", PER_TOKEN))
        if (now := reading.figure(label, name, "p50")).known
        and (before := reading.figure(reading.baseline, name, "p50")).known
    ]
    said = f"{', '.join(waits)} (medians, {reading.load})" if waits else reason or ""
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def facts(reading: Reading) -> list[Fact]:
    """Everything the last screen says between its first line and where the report lies."""
    how = ending(reading)
    if how == INVALID:
        return [*_invalid_facts(reading), *_present(refused_fact(reading))]
    shown = reading.recommended
    slo = slo_fact(reading)
    found: list[Fact | None] = [slo]
    if shown is not None and shown != reading.baseline:
        found += _speed_facts(reading, shown)
        found.append(answers_fact(reading))
        found.append(against_hand(reading))
    else:
        found += _as_measured(reading)
        if shown is None and reading.behaviour:
            found.append(answers_fact(reading))
    found += _not_chosen(reading)
    # Whoever has a limit of their own has no need of the general one of 100 ms.
    found += [refused_fact(reading), limit_fact(reading), wait_fact(reading) if slo is None else None]
    found.append(doubts_fact(reading))
    return _present(*found)


def recommendation(reading: Reading) -> Fact:
    """What to run, under which load, and how its size and speed changed."""
    how, reason = ending(reading), why(reading)
    if how == INVALID:
        return Fact("No verdict", (_why_invalid(reading),))
    if reading.recommended is None:
        return Fact("Recommended", ("nothing", *([reason] if reason else [])))
    clauses = [f"{reading.recommended}, at {reading.load}"]
    smaller = context_words(reading)
    if smaller is not None:
        clauses.append(smaller)  # what was given up stands before what was asked for
    if reading.interrupted:
        clauses.append("interrupted: what was known by then")
    if reading.output_tokens:
        clauses.append(f"{reading.output_tokens} tokens an answer")
    before, after = reading.bytes_of(reading.baseline), reading.bytes_of(reading.recommended)
    ratio = reading.effect(VS_BASELINE, RATE).ratio.value
    if how == BETTER and before and after and ratio and before != after:
        clauses.append(size_and_speed(ratio, after / before).partition(":")[0])
    if how in (HAND_IS_BEST, BASELINE_IS_BEST):
        clauses.append(headline(reading).rstrip("."))
        clauses += [reason] if reason else []
    return Fact("Recommended", tuple(clauses))


def slo_fact(reading: Reading) -> Fact | None:
    """What became of each limit: of the recommended, else of the baseline."""
    limits = reading.slo_of(reading.recommended or reading.baseline)
    if not limits:
        return None
    name = plain(mapping(reading.result.get("objective")).get("name") or "")
    whose = "" if reading.recommended else f" of {reading.baseline}"
    return Fact(f"SLO{f' for {name}' if name else ''}{whose}", tuple(_limit_words(item) for item in limits))


def _limit_words(item: Mapping[str, Any]) -> str:
    """'p95 ttft 1.4 s of 2 s, met'."""
    value, limit = number(item.get("value_ms")), number(item.get("limit_ms"))
    verdict = {"met": "met", "missed": "missed"}.get(str(item.get("verdict")), "not settled")
    shown = "unknown" if value is None else show_ms(value)
    of = show_duration((limit or 0.0) / MS_PER_S)
    return f"{plain(item.get('stat'))} {plain(item.get('metric'))} {shown} of {of}, {verdict}"


def context_words(reading: Reading) -> str | None:
    """What the recommended gave up of the context that one request may fill; None when nothing."""
    if reading.recommended is None:
        return None
    ours, theirs = (
        number(mapping(reading.settings_of(label)).get("context_per_slot"))
        for label in (reading.recommended, reading.baseline)
    )
    if ours is None or theirs is None or ours >= theirs:
        return None
    return f"context {ours:.0f} tokens a slot instead of {theirs:.0f}"


def _speed_facts(reading: Reading, label: str) -> list[Fact]:
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


def _not_chosen(reading: Reading) -> list[Fact | None]:
    """Each finalist that was neither recommended nor set by hand: how it did against the one that was."""
    side = VS_BASELINE if reading.hand in (None, reading.baseline) else VS_HAND
    found: list[Fact | None] = []
    for label in _others(reading):
        verdict = reading.effect_of(label, side, RATE)
        if verdict.ratio.known:
            rate, word = show_value(reading.figure(label, RATE), show_rate), speed_word(verdict)
            against = "the baseline" if side == VS_BASELINE else "the hand setting"
            clauses = (f"{rate}; {word}, {ratio_words(verdict)}", f"against {against}", *settle_words(verdict))
            found.append(Fact(f"Not chosen, {label}", clauses))
    return found


def _others(reading: Reading) -> list[str]:
    return [label for label in reading.finalists if label not in (reading.baseline, reading.hand, reading.recommended)]


def _as_measured(reading: Reading) -> list[Fact | None]:
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
    limits = mapping(reading.result.get("limits"))
    clauses = []
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
    return Fact("Limit", tuple(clauses)) if clauses else None


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
    return Fact("100 ms", tuple(clauses))


def doubts_fact(reading: Reading) -> Fact | None:
    if not reading.doubts:
        return None
    first, more = reading.doubts[0], len(reading.doubts) - 1
    clauses = [f"{doubt_name(first)}: {plain(first.get('seen'))}"]
    if more:
        clauses[0] = f"{more + 1} in the report, first {clauses[0]}"
    return Fact("Doubts", (*clauses, plain(first.get("do"))))


def doubt_name(doubt: object) -> str:
    return plain(mapping(doubt).get("name")).replace("_", " ")


def _why_invalid(reading: Reading) -> str:
    if reading.fatal_doubts:
        return plain(reading.fatal_doubts[0].get("why"))
    return reading.effect(VS_BASELINE, RATE).reason or "the finals were not valid"


def _invalid_facts(reading: Reading) -> list[Fact]:
    """When a doubt forbids a verdict no figure is shown: what was seen, and what to do."""
    seen = [
        Fact(f"Doubt, {doubt_name(doubt)}", (plain(doubt.get("seen")), f"do: {plain(doubt.get('do'))}"))
        for doubt in reading.fatal_doubts[:4]
    ]
    return seen or [Fact("Doubt", (_why_invalid(reading),))]


def _present(*found: Fact | None) -> list[Fact]:
    return [fact for fact in found if fact is not None]
