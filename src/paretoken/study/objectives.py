"""Named objectives: nobody arrives with a p95 in mind, but everybody knows what the answers are for.

Each is an SLO with its reason and a goal; both are printed before anything runs, so that they can be argued with.
"""

from dataclasses import dataclass
from typing import Any

from paretoken.core.objective import GOALS, Limit, Load, Objective
from paretoken.errors import UsageError
from paretoken.metrics.slo import parse_slo, per_request, slo_words


@dataclass(frozen=True, slots=True)
class Purpose:
    slo: str  # as --slo takes it; empty: no limit
    goal: str
    why: str


PURPOSES = {
    "chat": Purpose(
        "p95 ttft < 2s, p95 tpot < 100ms",
        "cost",
        "people wait two seconds for an answer to begin, and read some seven words a second",
    ),
    "voice": Purpose(
        "p95 ttft < 500ms, p95 tpot < 200ms",
        "cost",
        "a pause in speech is felt after half a second, and speech needs three words a second",
    ),
    "autocomplete": Purpose(
        "p95 e2e < 500ms",
        "latency",
        "a completion that comes after the next keystrokes is thrown away",
    ),
    "batch": Purpose("", "throughput", "nobody waits: only what a token costs counts"),
}


def asked_for(purpose: str | None, slo: str | None, goal: str | None) -> dict[str, Any]:
    """What was asked for, as a study stores it: a purpose's SLO and goal, each of which --slo and --goal replace.
    Raises UsageError."""
    if purpose is not None and purpose not in PURPOSES:
        raise UsageError(f"'{purpose}' is no purpose; it is one of {', '.join(PURPOSES)}")
    named = PURPOSES.get(purpose or "", Purpose("", "cost", ""))
    asked = {"for": purpose, "slo": named.slo if slo is None else slo, "goal": goal or named.goal}
    _limits_of(asked)
    return asked


def objective_of(asked: dict[str, Any], load: Load, output_tokens: int, behaviour_margin_nat: float) -> Objective:
    """The Objective of a study's stored parameters; those of before had neither SLO nor goal."""
    return Objective(
        load,
        output_tokens,
        behaviour_margin_nat,
        goal=asked.get("goal") or "cost",
        slo=_limits_of(asked),
        name=asked.get("for"),
    )


def _limits_of(asked: dict[str, Any]) -> tuple[Limit, ...]:
    text, goal = asked.get("slo") or "", asked.get("goal") or "cost"
    if goal not in GOALS:
        raise UsageError(f"'{goal}' is no goal; it is one of {', '.join(GOALS)}")
    limits = parse_slo(text) if text.strip() else ()
    if goal == "goodput" and per_request(limits) is None:
        raise UsageError(
            "goodput counts requests that keep an SLO on ttft, ttfa, tpot or e2e; give one with --slo, for example "
            '--slo "p95 ttft < 2s"'
        )
    return limits


def objective_words(objective: Objective) -> str:
    """'chat: p95 ttft < 2 s, p95 tpot < 100 ms; then the lowest cost'."""
    best = {
        "cost": "the lowest cost",
        "throughput": "the highest output rate",
        "latency": "the shortest whole answer",
        "goodput": "the most good requests a second",
    }[objective.goal]
    name = f"{objective.name}: " if objective.name else ""
    if not objective.slo:
        return f"{name}{best}, with no limit on the wait"
    return f"{name}{slo_words(objective.slo)}; within that {best}"
