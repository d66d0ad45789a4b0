"""Before anything is tried: what can be tried, a first look at the untouched model, and the plan said aloud; and, once
screening has shown how fast this hour is, what is left of it."""

from dataclasses import replace
from typing import Any

from paretoken.core.candidate import Model
from paretoken.errors import EngineError
from paretoken.models.dimensions import dimensions
from paretoken.models.gguf_header import read_header
from paretoken.study.objectives import PURPOSES, objective_words
from paretoken.study.plan import Pace, Plan, replanned
from paretoken.study.space import BASELINE, Space, space_for
from paretoken.study.state import State
from paretoken.study.steps import Steps
from paretoken.study.trace import PROMPT, Watcher, trace_on
from paretoken.units import show_duration

WORDS_TO_TOKENS = 1.5  # generous: a context that is too small is refused, one too large costs a little memory
TEMPLATE_TOKENS = 48


def space_of(steps: Steps, base: Model) -> Space:
    longest = max(
        sum(len(message.content.split()) for message in request.messages)
        for request in steps.workload(steps.streams * 4, block=0).requests
    )
    tokens = round(longest * WORDS_TO_TOKENS) + TEMPLATE_TOKENS + steps.objective.output_tokens
    engine = steps.bench.engine
    defaults = engine.settings_type().as_json()
    resolved = getattr(engine.settings_type(), "resolved", None)
    if resolved is not None:  # names what the engine would fill in: threads by the CPU quota, the model's context
        defaults = resolved(dimensions(read_header(base.path)).context_tokens).as_json()
    return space_for(base, engine=engine.name, base_settings=defaults, streams=steps.streams, tokens_per_request=tokens)


def first_look(steps: Steps, space: Space) -> Pace:
    """One request to the untouched model, shown live; its pace is what the plan's minutes rest on."""
    known = steps.file.done("first_look", "trace")
    if known is None:
        talk = steps.bench.talk
        candidate = space.candidate(BASELINE)
        talk.line(f"First, the untouched model ({space.label(BASELINE)}): one request, live.")
        watcher = Watcher(talk)
        watcher.asked(PROMPT)
        with steps.bench.engine.launch(
            candidate.model.path, steps.bench.settings(dict(candidate.engine_settings))
        ) as running:
            start_s = running.load_s or 0.0
            found = trace_on(
                running, PROMPT, output_tokens=steps.objective.output_tokens, ignore_eos=True, on_piece=watcher
            )
        watcher.summed_up(found)
        record = found.record
        if record.tpot_s is None or record.ttft_s is None or not record.reply.prompt_tokens:
            raise EngineError("the untouched model's answer came without a token count; use another engine")
        known = {
            "token_s": record.tpot_s,
            "prefill_s": record.ttft_s / record.reply.prompt_tokens,
            "start_s": start_s,
            "trace": found.as_json(),
        }
        steps.file.append("first_look", "trace", known)
    return Pace(known["token_s"], known["prefill_s"], known["start_s"])


def say_plan(steps: Steps, plan: Plan) -> None:
    talk = steps.bench.talk
    talk.line(f"Objective: {objective_words(steps.objective)}")
    if steps.objective.name is not None:
        talk.line(f"  {PURPOSES[steps.objective.name].why}")
    talk.line(f"Plan for study {steps.file.id} (about {show_duration(plan.total_s)}):")
    for step in plan.steps:
        talk.line(f"  {step.seconds / 60:4.1f} min  {step.name}")
    if plan.short:
        talk.line(f"  {plan.short}")


def keep_to_budget(steps: Steps, state: State, *, since_start_s: float, since_plan_s: float) -> None:
    """Decided once a study: a resume goes on with the same number of positions."""

    def decide() -> dict[str, Any]:
        plan = replanned(state.plan, since_start_s=since_start_s, since_plan_s=since_plan_s)
        if plan is not state.plan:
            steps.bench.talk.line(f"  {plan.short}")
        return {"positions": plan.final_positions, "short": plan.short}

    decided = steps.file.once("replanned", "study", decide)
    state.plan = replace(state.plan, final_positions=decided["positions"], short=decided["short"])
