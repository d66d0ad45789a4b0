"""The search: short runs of what looks best, the behaviour of each model before its speed; who changed it is refused.

Enters the steps and a strategy; adds trials, refusals and what the strategy was told to the State. The numbers of a
search choose whom to look at again, and are never reported as results (decision rule 5). A strategy is a function of
what it was told, and every trial is stored as it ends: after a kill the same asks come again and are read, not run.
"""

from dataclasses import replace
from typing import Any

from paretoken.core.candidate import Candidate
from paretoken.core.trial import Trial
from paretoken.errors import ModelError, UsageError
from paretoken.search import STRATEGIES
from paretoken.search.base import COMPLETE, HALF, REFUSED, Ask, Problem, Strategy, Told
from paretoken.search.space import Point
from paretoken.study.prior import prior_of
from paretoken.study.refusals import REFUSALS, expected_refusal, kld_words, refuse
from paretoken.study.state import State
from paretoken.study.steps import Steps


def strategy_for(steps: Steps, state: State) -> Strategy:
    prior = prior_of(state.space, state.limits, steps.asks)
    problem = Problem(state.space.tree, prior, steps.seed, state.plan.budget.trials)
    found: Strategy = STRATEGIES.load(steps.strategy)(problem)
    return found


def search(steps: Steps, state: State) -> None:
    """Asks and runs until the strategy has enough, or its time or its number of trials is over."""
    strategy, known = strategy_for(steps, state), steps.file.done("searched", "study")
    began_s, why = steps.file.spent_s, "the strategy had enough"
    while known is None or len(state.told) < known["asked"]:
        if known is None and _time_is_over(steps, state, began_s):
            why = f"its {state.plan.search_s:.0f} s were over"
            break
        ask = strategy.ask(state.told)
        if ask is None:
            break
        state.told.append(_tell(steps, state, ask))
    if known is None:
        steps.file.append("searched", "study", {"asked": len(state.told), "why": why})
        runs = sum(told.seconds > 0 for told in state.told)
        steps.bench.talk.line(f"  the search ends after {runs} runs: {why}")


def _time_is_over(steps: Steps, state: State, began_s: float) -> bool:
    """Whether another short run would end behind the search's time; one of its own length is waited for."""
    if state.plan.search_s is None:
        return False
    ran = [told.seconds for told in state.told if told.state == COMPLETE]
    next_s = sum(ran) / len(ran) if ran else state.plan.expected_run_s(HALF)
    return steps.file.spent_s - began_s + next_s / 2 > state.plan.search_s


def _tell(steps: Steps, state: State, ask: Ask) -> Told:
    talk, space = steps.bench.talk, state.space
    label = space.label(ask.point)
    too_far = expected_refusal(state, ask.point, steps.objective.behaviour_margin_nat)
    if too_far is not None:
        words = space.model_words(ask.point)
        state.left_out.append({"label": words, "reason": too_far})
        talk.line(f"  {words}: {too_far}")
        return Told(ask.point, ask.effort, REFUSED, None, 0.0)
    try:
        talk.progress(f"making {label}")
        candidate = space.candidate(ask.point)
    except (ModelError, UsageError) as error:
        talk.line(f"  {label} could not be made: {error}")
        return Told(ask.point, ask.effort, "infeasible", None, 0.0)
    behaviour = look_at_behaviour(steps, state, ask.point, candidate)
    refused = behaviour is not None and behaviour["verdict"] in REFUSALS
    trial = _run(steps, state, ask, candidate, behaviour)
    if refused:
        assert behaviour is not None
        refuse(state, trial, behaviour)
        return Told(ask.point, ask.effort, REFUSED, None, trial.seconds)
    state.trials.append(trial)
    if trial.complete and trial.merit is not None and trial.merit > 0:
        return Told(ask.point, ask.effort, COMPLETE, trial.merit, trial.seconds)
    return Told(ask.point, ask.effort, trial.state if not trial.complete else "infeasible", None, trial.seconds)


def _run(steps: Steps, state: State, ask: Ask, candidate: Candidate, behaviour: dict[str, Any] | None) -> Trial:
    """A refused model is run once all the same, so that the report can say what was given up."""
    talk = steps.bench.talk
    before = sum(told.point == ask.point for told in state.told)
    requests = max(steps.streams, round(ask.effort * state.plan.screen_requests))
    talk.progress(f"trying {candidate.label}")
    found = steps.screen_speed(candidate, requests, repeat=before)
    rate = (found.metrics.get("output_tok_s") or {}).get("value")
    what = f"{rate:.0f} tok/s" if rate else f"{found.state}: {found.reason or 'no rate'}"
    talk.line(f"  {candidate.label}: {what}" + ("" if ask.effort == 1 else f" ({ask.effort:.0%} of a run)"))
    return replace(found, behaviour=behaviour, point=ask.point.as_json(), effort=ask.effort)


def look_at_behaviour(steps: Steps, state: State, point: Point, candidate: Candidate) -> dict[str, Any] | None:
    """What a short look says of the point's model-level options; None where it has none, so nothing could change."""
    level = state.space.tree.model_level(point)
    if level == state.space.tree.model_level(state.space.baseline):
        return None
    if level not in state.screens:
        words = state.space.model_words(point)
        steps.bench.talk.progress(f"comparing the behaviour of {words}")
        found = steps.screen_behaviour(state.space.model, candidate)
        state.screens[level] = found
        steps.bench.talk.line(f"  {words}: {found['verdict']} ({kld_words(found)})")
    return state.screens[level]
