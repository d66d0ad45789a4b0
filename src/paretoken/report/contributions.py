"""What each technique contributed: alone against the baseline, and what the winner is without it.

Enters the document's `contributions` (null in documents of before and where nothing was taken apart); leaves rows, a
fact and the page's table. Words follow the stored verdicts; a ratio that is not settled says so beside its number.
"""

from dataclasses import dataclass
from typing import Any

from paretoken.report.fact import Fact
from paretoken.report.figures import Figure, mapping, number, plain, rows, show_bracket, show_times, show_value
from paretoken.report.reading import RATE, Reading, Verdict, verdict_of_effect

_METRICS = {
    RATE: "output tokens a second",
    "e2e_p50_ms": "time for a whole answer",
    "goodput_req_s": "good requests a second",
    "ttft_from_due_p50_ms": "wait for the first word",
    "tpot_p50_ms": "wait for each next token",
}
_ALONE = {"better": "helps", "worse": "hurts", "same": "makes no difference", "invalid": "no verdict"}
_REMOVED = {
    "worse": "helps inside the winner",
    "better": "the winner would be better without it",
    "same": "makes no difference inside the winner",
    "invalid": "no verdict",
}
UNSETTLED = "not settled"


@dataclass(frozen=True, slots=True)
class Share:
    """One technique. `removed` is the winner without it against the winner; `inside` turns that round."""

    words: str
    level: str
    alone: Verdict | None
    removed: Verdict | None
    missing: str

    @property
    def inside(self) -> Figure:
        """The factor that it brings to the winner: 1 ÷ the winner without it."""
        return Figure() if self.removed is None else self.removed.ratio.inverted()


def shares(reading: Reading) -> list[Share]:
    """A row each technique of the winner; none where a doubt forbids a verdict."""
    if reading.invalid:
        return []
    found = []
    for row in rows(mapping(reading.result.get("contributions")).get("rows")):
        alone, removed = _verdict(row.get("alone")), _verdict(row.get("removed"))
        words = plain(row.get("words") or row.get("technique") or "a technique")
        found.append(Share(words, plain(row.get("level") or ""), alone, removed, plain(row.get("missing") or "")))
    return found


def whole(reading: Reading) -> Verdict | None:
    """The winner against the baseline, as measured in the same blocks."""
    return _verdict(mapping(reading.result.get("contributions")).get("whole"))


def metric_words(reading: Reading) -> str:
    metric = plain(mapping(reading.result.get("contributions")).get("metric") or RATE)
    return _METRICS.get(metric, metric)


def less_is_better(reading: Reading) -> bool:
    return plain(mapping(reading.result.get("contributions")).get("metric") or RATE).endswith("_ms")


def contributions_fact(reading: Reading) -> Fact | None:
    """'Each alone: Q8_0 weights 1.16×; 8 slots 1.21×; together 1.62×', then the winner without each. Where the winner
    was better without one of them, that comes first."""
    found = shares(reading)
    if not found:
        return None
    clauses = [f"{share.words} {_short(share.alone)}" for share in found]
    together = whole(reading)
    if together is not None:
        clauses.append(f"together {_short(together)}")
    lacking = [f"{share.words} {_short(share.removed)}" for share in found if share.removed is not None]
    if lacking:
        clauses.append(f"the winner without {', without '.join(lacking)}")
    needless = [
        f"{share.words}, {show_bracket(share.removed.ratio, show_times)}"
        for share in found
        if share.removed is not None and share.removed.word == "better"
    ]
    if needless:
        clauses = [*needless, "not confirmed by blocks of its own", f"each alone: {clauses[0]}", *clauses[1:]]
        return Fact("Better without", tuple(clauses))
    return Fact("Each alone", tuple(clauses))


def contributions(reading: Reading) -> dict[str, Any] | None:
    """The page's table, or None."""
    found, held = shares(reading), mapping(reading.result.get("contributions"))
    if not found:
        return None
    together, product = whole(reading), number(held.get("product_of_alone"))
    return {
        "of": plain(held.get("of") or reading.recommended or ""),
        "metric": metric_words(reading),
        "rows": [
            {
                "words": share.words,
                "level": share.level,
                "alone": _ratio(share.alone),
                "alone_words": _ALONE.get(share.alone.word, UNSETTLED) if share.alone else "",
                "removed": _ratio(share.removed),
                "removed_words": _REMOVED.get(share.removed.word, UNSETTLED) if share.removed else "",
                "inside": show_value(share.inside, show_times) if share.inside.known else "",
                "missing": share.missing,
            }
            for share in found
        ],
        "whole": _ratio(together) if together is not None else "",
        "product": "" if product is None else show_times(product),
        "overlap": plain(held.get("overlap") or ""),
    }


def _verdict(effect: object) -> Verdict | None:
    held = mapping(effect)
    return verdict_of_effect(held) if held else None


def _ratio(verdict: Verdict | None) -> str:
    return "not measured" if verdict is None else show_bracket(verdict.ratio, show_times)


def _short(verdict: Verdict | None) -> str:
    if verdict is None or not verdict.ratio.known:
        return "not measured"
    return f"{show_value(verdict.ratio, show_times)}{f' ({UNSETTLED})' if verdict.word == 'unknown' else ''}"
