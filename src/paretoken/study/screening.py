"""Screening: every candidate is looked at once, its behaviour before its speed; who changed the answers is refused.

Adds trials and refusals to the State. Its numbers choose whom to look at again, and are never reported as results.
"""

from dataclasses import replace
from typing import Any

from paretoken.core.trial import Trial
from paretoken.errors import ModelError
from paretoken.study.choose import finalists_in_order
from paretoken.study.finals import RATE
from paretoken.study.space import Point
from paretoken.study.state import State
from paretoken.study.steps import Steps


def make_models(steps: Steps, state: State) -> None:
    """Each number type made, then looked at: what changed the behaviour is refused before its speed counts."""
    talk, space = steps.bench.talk, state.space
    for number_type in space.number_types():
        talk.progress(f"making {number_type}")
        try:
            state.models[number_type] = space.candidate(Point(number_type)).model
        except ModelError as error:
            talk.line(f"  {number_type} could not be made: {error}")
    for number_type, made in state.models.items():
        talk.progress(f"comparing the behaviour of {number_type}")
        found = steps.screen_behaviour(space.model, made)
        state.screens[number_type] = found
        talk.line(f"  {number_type}: {found['verdict']} ({kld_words(found)})")


def screen_speeds(steps: Steps, state: State) -> None:
    """Every number type at the most slots, then the fastest of them at fewer (the baseline is in the finals anyway).

    A refused number type is run once all the same, so that the report can say what was given up."""
    space = state.space
    for point in space.most_slots():
        if point.number_type is None or point.number_type in state.models:
            _screen_one(steps, state, point)
    able = finalists_in_order(state.trials, [], steps.objective)
    if able:
        fastest = next(p for p in space.most_slots() if space.label(p) == able[0].candidate.label)
        for point in space.fewer_slots(fastest.number_type):
            _screen_one(steps, state, point)


def _screen_one(steps: Steps, state: State, point: Point) -> None:
    talk, candidate = steps.bench.talk, state.space.candidate(point)
    behaviour = None if point.number_type is None else state.screens[point.number_type]
    talk.progress(f"screening {candidate.label}")
    trial = replace(steps.screen_speed(candidate, state.plan.screen_requests), behaviour=behaviour)
    rate = (trial.metrics.get(RATE) or {}).get("value")
    talk.line(f"  {candidate.label}: " + (f"{rate:.0f} tok/s" if rate else f"{trial.state}: {trial.reason}"))
    if behaviour is not None and behaviour["verdict"] in ("changed", "fail"):
        refuse(steps, state, trial, behaviour)
    else:
        state.trials.append(trial)


def refuse(steps: Steps, state: State, trial: Trial, behaviour: dict[str, Any]) -> None:
    label = trial.candidate.label
    state.trials = [kept for kept in state.trials if kept.id != trial.id]
    reason = f"its behaviour {_refusal(behaviour['verdict'])}: {behaviour.get('reason') or kld_words(behaviour)}"
    steps.bench.talk.progress(f"asking {label} and the baseline the same")
    state.refused.append(
        {
            "label": label,
            "reason": reason,
            "behaviour": behaviour,
            "differing_answers": steps.answers_that_differ(state.space.model, trial.candidate.model),
            "metrics": trial.metrics or None,
        }
    )
    state.trials.append(replace(trial, state="refused", reason=reason, behaviour=behaviour))
    steps.bench.talk.progress("")


def _refusal(verdict: str) -> str:
    return {"changed": "changed", "fail": "failed", "inconclusive": "could not be shown to be kept"}[verdict]


def kld_words(behaviour: dict[str, Any]) -> str:
    kld = behaviour.get("kld") or {}
    top = behaviour.get("same_top") or {}
    if kld.get("value") is None or top.get("value") is None:
        return str(behaviour.get("reason"))
    return f"KLD {kld['value']:.4f} nat, same top token {top['value']:.1%} of {behaviour.get('positions')} positions"
