"""What the page says, section by section: plain strings and numbers for the template, no markup.

Enters a Reading; leaves dictionaries whose every string is text. Escaping is the template's work (autoescape).
"""

import re
from collections.abc import Mapping
from typing import Any

from paretoken.report.answers import evidence, intact_words, refused_rate, same_weights, untouched, verdict_of
from paretoken.report.chart_frontier import MANY
from paretoken.report.choice import commands, knee_words, sensitivity
from paretoken.report.contributions import contributions
from paretoken.report.document import unsaid
from paretoken.report.evidence import doubt_name
from paretoken.report.fact import Fact
from paretoken.report.figures import (
    COST,
    Figure,
    Show,
    cost_of,
    mapping,
    number,
    plain,
    rows,
    scalar,
    show_bracket,
    show_cost,
    show_interval,
    show_ms,
    show_nat,
    show_rate,
    show_times,
    show_value,
)
from paretoken.report.gravity import is_fatal
from paretoken.report.page_tables import candidates, finals, flat, limits, plan, wait
from paretoken.report.page_trials import trials
from paretoken.report.reading import FIRST_WORD, PER_TOKEN, RATE, VS_BASELINE, VS_HAND, Reading
from paretoken.report.story import INVALID, context_words, ending, facts, headline, lede
from paretoken.report.words import cost_words, latency_word, settle_words, speed_word

_JOIN = {"better": "than", "worse": "than", "same": "as"}


def page(reading: Reading) -> dict[str, Any]:
    """Everything but the pictures, the style and the data."""
    return {
        "study": reading.study,
        "title": headline(reading),
        "lede": lede(reading),
        "load": reading.load,
        "interrupted": reading.interrupted,
        "output_tokens": reading.output_tokens,
        "started_at": moment(mapping(reading.result.get("provenance")).get("started_at")),
        "cost_title": _cost_title(reading),
        "commands": commands(reading),
        "contributions": contributions(reading),
        "knee": knee_words(reading),
        "sensitivity": sensitivity(reading),
        "facts": [*facts(reading), *_context(reading)],
        "cards": cards(reading),
        "candidates": candidates(reading),
        "many": MANY,
        "behaviour": behaviour(reading),
        "refused": refused(reading),
        "left_out": left_out(reading),
        "doubts": doubts(reading),
        "plan": plan(reading),
        "trials": trials(reading),
        "finals": finals(reading),
        "wait": wait(reading),
        "limits": limits(reading),
        "definitions": flat(reading.result.get("definitions")),
        "provenance": [*_schema(reading), *flat(reading.result.get("provenance"))],
        "unsaid": unsaid(reading.result),
    }


def _context(reading: Reading) -> list[Fact]:
    """What the recommended gave up, beside what it won."""
    words = context_words(reading)
    return [] if words is None or ending(reading) == INVALID else [Fact("Given up", (words,))]


def _schema(reading: Reading) -> list[tuple[str, str]]:
    found = number(reading.result.get("schema"))
    return [] if found is None else [("schema of this document", f"{found:g}")]


# The numbers that matter


def cards(reading: Reading) -> list[dict[str, Any]]:
    """Output rate, the two waits and the cost: each finalist's median as a bar, and the verdicts. None when invalid."""
    if ending(reading) == INVALID:
        return []
    wanted: list[tuple[str, str, str | None, Show, str]] = [
        ("Output", RATE, None, show_rate, "output_tok_s"),
        ("First word (median)", FIRST_WORD, "p50", show_ms, "ttft_from_due_p50_ms"),
        ("Each next token (median)", PER_TOKEN, "p50", show_ms, "tpot_p50_ms"),
        (_cost_title(reading), COST, None, show_cost(reading.currency), "output_tok_s"),
    ]
    found = []
    for title, name, stat, show, effect in wanted:
        figures = [(label, _shown(reading, label, name, stat)) for label in reading.finalists]
        longest = max((figure.value or 0.0 for _, figure in figures), default=0.0)
        if longest > 0:
            bars = [
                {
                    "label": label,
                    "role": reading.role(label),
                    "value": show_value(figure, show),
                    "interval": show_interval(figure, show),
                    "percent": round(100 * (figure.value or 0.0) / longest, 1),
                }
                for label, figure in figures
            ]
            better = "more is better" if name == RATE else "less is better"
            found.append({"title": title, "better": better, "bars": bars, "chips": _chips(reading, name, effect)})
    return found


def _cost_title(reading: Reading) -> str:
    return "Machine time for a million tokens" if reading.currency is None else "Cost of a million tokens"


def _shown(reading: Reading, label: str, name: str, stat: str | None) -> Figure:
    return cost_of(reading.metrics(label)) if name == COST else reading.figure(label, name, stat)


def _chips(reading: Reading, name: str, metric: str) -> list[dict[str, str]]:
    """The verdicts on what is recommended. Nothing is said against oneself."""
    if reading.recommended is None:
        return []
    found = []
    for side, against, label in (
        (VS_BASELINE, "baseline", reading.baseline),
        (VS_HAND, "hand setting", reading.hand),
    ):
        verdict = reading.effect(side, metric)
        if not verdict.ratio.known or label == reading.recommended or (side == VS_HAND and label == reading.baseline):
            continue
        chip = {"against": against, "kind": verdict.word, "join": _JOIN.get(verdict.word, "against"), "ratio": ""}
        if name == COST:
            settled = verdict.word in ("better", "worse")
            found.append({**chip, "word": cost_words(verdict.ratio) if settled else speed_word(verdict)})
        else:
            word = speed_word(verdict) if name == RATE else latency_word(verdict)
            ratio = "; ".join((show_bracket(verdict.ratio, show_times), *settle_words(verdict)))
            found.append({**chip, "word": word, "ratio": ratio})
    return found


def moment(iso: object) -> str:
    """'2026-11-30T22:41:30Z' → '2026-11-30 22:41 UTC'; anything else as it is."""
    text = plain(iso or "")
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)[\d:.]*(?:Z|\+00:00)", text)
    return f"{found[1]} {found[2]} UTC" if found else text


# Behaviour


def behaviour(reading: Reading) -> dict[str, Any]:
    found = reading.behaviour
    unchecked = "not checked"
    if same_weights(reading):
        unchecked = (
            "the weights are untouched" if untouched(reading) else "the weights are untouched, the rest unchecked"
        )
    return {
        "verdict": verdict_of(found).replace("_", " ") or unchecked,
        "rows": behaviour_rows(found, reading.margin_nat),
        "intact": intact_words(reading),
    }


def behaviour_rows(found: Mapping[str, Any], margin_nat: float | None) -> list[tuple[str, str]]:
    """What the gate saw, as name and value."""
    listed = [
        ("Distance" if clause.startswith("KLD") else "Agreement", clause) for clause in evidence(found, margin_nat)
    ]
    ratio = scalar(found, "ppl_ratio")
    if ratio.known:
        listed.append(("Perplexity ratio", show_bracket(ratio, lambda value: f"{value:.3f}")))
    documents, floor = number(found.get("documents")), number(found.get("floor_nat"))
    if documents:
        listed.append(("Documents", f"{documents:.0f}"))
    if floor is not None:
        listed.append(("Rounding alone", f"KLD up to {show_nat(floor)} nat"))
    listed += [
        (f"With other {plain(change.get('name'))}", _flips(change))
        for change in rows(mapping(found.get("floors")).get("changes"))
    ]
    if found.get("reason"):
        listed.append(("Why", plain(found["reason"])))
    return listed


def _flips(change: Mapping[str, Any]) -> str:
    """What a change that should only move rounding did."""
    kld, hard, near = scalar(change, "kld"), number(change.get("hard_flips")), number(change.get("near_tie_flips"))
    said = [] if kld.value is None else [f"KLD {show_nat(kld.value)} nat"]
    if hard is not None and near is not None:
        said.append(f"{hard:.0f} hard and {near:.0f} near-tie flips")
    return ", ".join(said)


def refused(reading: Reading) -> list[dict[str, Any]]:
    found = []
    for item in reading.refused:
        answers = [_two_answers(pair) for pair in rows(item.get("differing_answers"))]
        found.append(
            {
                "label": plain(item.get("label")),
                "reason": _sentence(plain(item.get("reason") or "no reason was stored")),
                "rate": show_value(refused_rate(reading, item), show_rate),
                "rows": behaviour_rows(mapping(item.get("behaviour")), reading.margin_nat),
                "answers": answers,
            }
        )
    return found


def left_out(reading: Reading) -> list[dict[str, str]]:
    """Models that the search did not look at, each with the reason."""
    found = rows(reading.result.get("left_out"))
    return [{"label": plain(item.get("label")), "reason": _sentence(plain(item.get("reason")))} for item in found]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _two_answers(pair: Mapping[str, Any]) -> dict[str, str]:
    """Prompt and both answers, each cut where they part."""
    ours, theirs = (printable(pair.get(name) or "") for name in ("baseline", "candidate"))
    alike = 0
    while alike < min(len(ours), len(theirs)) and ours[alike] == theirs[alike]:
        alike += 1
    # Part at a word's beginning: half a word marked as different reads like a typing error.
    while alike > 0 and not ours[alike - 1].isspace():
        alike -= 1
    return {
        "prompt": printable(pair.get("prompt") or ""),
        "alike": ours[:alike],
        "baseline": ours[alike:],
        "candidate": theirs[alike:],
    }


def printable(text: object) -> str:
    """A model's text with its line ends, without control and bidirectional characters."""
    return "".join(c if c.isprintable() or c == "\n" else "�" for c in str(text))


# How it was found


def doubts(reading: Reading) -> list[dict[str, Any]]:
    """The gravest first; what was seen more than once is one doubt with all its sightings."""
    found: dict[str, dict[str, Any]] = {}
    for doubt in reading.doubts:
        name = doubt_name(doubt)
        if name not in found:
            why, do = plain(doubt.get("why") or ""), plain(doubt.get("do") or "")
            found[name] = {"name": name, "seen": [], "why": _sentence(why), "do": do, "fatal": is_fatal(doubt)}
        found[name]["seen"].append(plain(doubt.get("seen") or ""))
    return list(found.values())
