"""The result of a search in sentences: one headline, and facts that the last screen and the page both state.

Enters a Reading; leaves words. Each word follows a stored verdict: "faster" only where the verdict is better, never
from two numbers that happen to differ. Where a doubt forbids a verdict there is no number in the headline.
"""

from paretoken.report.answers import answers_fact, in_short, kept_answers, refused_fact, refused_rate
from paretoken.report.contributions import contributions_fact
from paretoken.report.evidence import (
    against_hand,
    as_measured,
    doubt_name,
    doubts_fact,
    limit_fact,
    limit_words,
    not_chosen,
    slo_fact,
    speed_facts,
    wait_fact,
)
from paretoken.report.fact import Fact
from paretoken.report.figures import (
    mapping,
    number,
    plain,
    show_times,
    show_value,
)
from paretoken.report.reading import FIRST_WORD, PER_TOKEN, RATE, VS_BASELINE, Reading
from paretoken.report.words import (
    instead_of,
    ratio_words,
    size_and_speed,
    speed_word,
)

BETTER, MEETS_SLO, HAND_IS_BEST, BASELINE_IS_BEST, UNSETTLED, NOTHING, INVALID = (
    "better",
    "meets_slo",
    "hand_is_best",
    "baseline_is_best",
    "unsettled",
    "nothing",
    "invalid",
)


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
        return f"{reading.recommended} keeps the SLO, which the model as it is does not: {limit_words(missed)}."
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
        found += speed_facts(reading, shown)
        found.append(answers_fact(reading))
        found.append(against_hand(reading))
        found.append(contributions_fact(reading))
    else:
        found += as_measured(reading)
        if shown is None and reading.behaviour:
            found.append(answers_fact(reading))
    found += not_chosen(reading)
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
