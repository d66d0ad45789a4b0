"""What happened to the answers, in words: the behaviour gate, intactness, and what was refused.

Enters the stored verdicts (decision rules 6 and 7). What was not checked is said to be unchecked, never unchanged.
"""

from collections.abc import Mapping
from typing import Any

from paretoken.report.fact import Fact
from paretoken.report.figures import Figure, mapping, number, plain, scalar, show_interval, show_nat, show_rate
from paretoken.report.reading import RATE, Reading
from paretoken.units import show_percent

_BEHAVIOUR_WORDS = {
    "equivalent": "unchanged, no further from the baseline than rounding moves it",
    "changed_small": "changed a little, inside the margin",
    "changed": "changed beyond the margin",
    "inconclusive": "not settled whether they changed",
    "fail": "broken",
}
_SHORT = {
    "equivalent": "with unchanged answers",
    "changed_small": "with answers inside the margin",
    "changed": "but the answers changed",
    "inconclusive": "but whether the answers changed is not settled",
    "fail": "but the answers are broken",
}


def verdict_of(behaviour: Mapping[str, Any]) -> str:
    """'' when there is none."""
    return plain(behaviour.get("verdict") or "")


def same_weights(reading: Reading) -> bool:
    """The recommended runs the very file that the baseline runs."""
    label = reading.recommended
    ours = reading.weights_of(label) if label else None
    return ours is not None and ours == reading.weights_of(reading.baseline)


def untouched(reading: Reading) -> bool:
    """The baseline's own weights, and nothing of the service that needs a check was switched on without one."""
    return same_weights(reading) and not (reading.intact is None and _other_slots(reading))


def _other_slots(reading: Reading) -> bool:
    """Batching differs from the baseline's, or nobody says that it does not."""
    ours, theirs = (
        number(mapping(reading.settings_of(label)).get("slots")) if label else None
        for label in (reading.recommended, reading.baseline)
    )
    return reading.recommended != reading.baseline and (ours is None or ours != theirs)


def kept_answers(reading: Reading) -> bool:
    """No verdict stands against the answers of what was tried last."""
    return reading.behaviour.get("verdict") in (None, "equivalent", "changed_small") and reading.intact in (
        None,
        "intact",
    )


def in_short(reading: Reading) -> str:
    """The answers in a few words, for a headline."""
    verdict = verdict_of(reading.behaviour)
    if verdict in _SHORT:
        return _SHORT[verdict]
    if not same_weights(reading):
        return "but its answers were not checked"
    if not untouched(reading):
        return "from the same weights, but its answers were not checked"
    return "from the same weights" if reading.intact in ("intact", None) else "but its answers may differ"


def answers_fact(reading: Reading) -> Fact:
    found = reading.behaviour
    verdict = verdict_of(found)
    clauses: list[str] = []
    if verdict in _BEHAVIOUR_WORDS:
        clauses.append(_BEHAVIOUR_WORDS[verdict])
        clauses += evidence(found, reading.margin_nat)
    elif same_weights(reading):
        clauses.append("the weights are untouched")
        if not untouched(reading):
            clauses.append("whether the service settings only move rounding was not checked")
    else:
        clauses.append("not checked, so nothing is claimed about them")
    intact = intact_words(reading)
    return Fact("Answers", (*clauses, *([intact] if intact else [])))


def intact_words(reading: Reading) -> str | None:
    words = {
        "intact": "the service settings move only rounding",
        "not_intact": "the service settings changed more than rounding does",
        "inconclusive": "not settled whether the service settings only move rounding",
    }
    return words.get(reading.intact) if reading.intact else None


def evidence(behaviour: Mapping[str, Any], margin_nat: float | None) -> list[str]:
    """KLD against its margin, and the share of equal top choices, as clauses."""
    clauses = []
    kld = scalar(behaviour, "kld")
    margin = number(behaviour.get("margin_nat")) or number(behaviour.get("margin")) or margin_nat
    if kld.value is not None:
        against = f", margin {margin:g}" if margin is not None else ""
        span = show_interval(kld, show_nat)
        clauses.append(f"KLD {show_nat(kld.value)} nat{f' ({span})' if span else ''}{against}")
    same_top = scalar(behaviour, "same_top")
    if same_top.value is not None:
        positions = number(behaviour.get("positions"))
        at = f" at {positions:,.0f} positions" if positions else ""
        clauses.append(f"{show_percent(same_top.value)} same first choice{at}")
    return clauses


def refused_fact(reading: Reading) -> Fact | None:
    """What was refused and why; with its speed, because a refusal is worth the most where it hurts."""
    if not reading.refused:
        return None
    # Several settings of one model fall together; the fastest of them is the one somebody would have wanted.
    first = max(reading.refused, key=lambda item: refused_rate(reading, item).value or 0.0)
    rate = refused_rate(reading, first)
    speed = f" ({show_rate(rate.value)})" if rate.value is not None else ""
    behaviour = mapping(first.get("behaviour"))
    numbers_decided = verdict_of(behaviour) == "changed"
    # Then the gate's own numbers are shorter than the study's sentence, which the page shows in full.
    why, *rest = (numbers_decided and evidence(behaviour, reading.margin_nat)) or [plain(first.get("reason"))]
    clauses = [f"{plain(first.get('label'))}{speed}: {why}", *rest]
    if len(reading.refused) > 1:
        clauses.append(f"and {len(reading.refused) - 1} more")
    return Fact("Refused", tuple(clauses))


def refused_rate(reading: Reading, item: Mapping[str, Any]) -> Figure:
    """What a refused candidate would have made: from its own metrics, else from the candidates' rows."""
    own = scalar(item.get("metrics"), RATE)
    if own.known:
        return own
    for point in reading.candidates:
        if point.get("label") == item.get("label"):
            return scalar(point, RATE)
    return Figure()
