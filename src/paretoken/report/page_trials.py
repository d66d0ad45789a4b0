"""Everything that was tried, as one table that stays readable at twenty trials: grouped by phase, states shown.

Enters a Reading; leaves groups of rows of strings. A failed trial is a row like any other, with its reason.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from paretoken.report.evidence import doubt_name
from paretoken.report.figures import mapping, plain, quantile, rows, scalar, show_ms, show_nat, show_rate, show_value
from paretoken.report.reading import FIRST_WORD, PER_TOKEN, RATE, Reading

_STATES = ("complete", "refused", "infeasible", "crashed", "timeout", "interrupted")


def trials(reading: Reading) -> dict[str, Any]:
    """`groups` in the order of the phases; in each the fastest first, and what failed after what did not."""
    found = rows(reading.result.get("trials"))
    usual = _usual_point(reading, found)
    by_phase: dict[str, list[Mapping[str, Any]]] = {}
    for trial in found:
        by_phase.setdefault(plain(trial.get("phase") or "tried"), []).append(trial)
    return {
        "count": len(found),
        "states": _counted(found),
        "has_effort": any(trial.get("effort") is not None for trial in found),
        "groups": [
            {
                "phase": phase.capitalize(),
                "states": _counted(members),
                "rows": [_row(reading, trial, usual) for trial in sorted(members, key=_place)],
            }
            for phase, members in by_phase.items()
        ],
    }


def _state(trial: Mapping[str, Any]) -> str:
    return plain(trial.get("state") or "unknown")


def _counted(found: list[Mapping[str, Any]]) -> str:
    """'8 complete, 1 refused, 1 crashed'."""
    counts = Counter(_state(trial) for trial in found)
    return ", ".join(f"{counts[state]} {state}" for state in sorted(counts, key=_rank))


def _rank(state: str) -> int:
    return _STATES.index(state) if state in _STATES else len(_STATES)


def _place(trial: Mapping[str, Any]) -> tuple[int, float]:
    return _rank(_state(trial)), -(scalar(trial.get("metrics"), RATE).value or 0.0)


def _usual_point(reading: Reading, found: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The baseline's point, so that others show only where they differ from it."""
    for trial in found:
        if plain(mapping(trial.get("candidate")).get("label")) == reading.baseline and trial.get("point"):
            return mapping(trial.get("point"))
    return {}


def _row(reading: Reading, trial: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, str]:
    metrics = mapping(trial.get("metrics"))
    kld = scalar(trial.get("behaviour"), "kld")
    named = ", ".join(dict.fromkeys(doubt_name(doubt) for doubt in rows(trial.get("doubts"))))
    label, state = plain(mapping(trial.get("candidate")).get("label")), _state(trial)
    return {
        "label": label,
        "role": "refused" if state == "refused" else reading.role(label),
        "point": _differs(mapping(trial.get("point")), usual),
        "state": state,
        "kind": state if state in _STATES else "unknown",
        "effort": "" if trial.get("effort") is None else _flat(trial["effort"]),
        "rate": show_value(scalar(metrics, RATE), show_rate) if metrics else "",
        "first_word": show_value(quantile(metrics, FIRST_WORD, "p50"), show_ms) if metrics else "",
        "per_token": show_value(quantile(metrics, PER_TOKEN, "p50"), show_ms) if metrics else "",
        "kld": f"{show_nat(kld.value)} nat" if kld.value is not None else "",
        "note": "; ".join(text for text in (plain(trial.get("reason") or ""), named) if text),
    }


def _differs(point: Mapping[str, Any], usual: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{plain(axis).replace('_', ' ')} {_flat(option)}"
        for axis, option in point.items()
        if axis not in usual or usual[axis] != option
    )


def _flat(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{plain(name)} {plain(item)}" for name, item in value.items())
    return "none" if value is None else plain(value)
