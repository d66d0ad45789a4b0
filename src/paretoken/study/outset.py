"""Before anything is tried: what can be tried, a first look at the untouched model, and the plan said aloud; and, once
screening has shown how fast this hour is, what is left of it."""

from dataclasses import replace
from statistics import median
from typing import Any

from paretoken.core.candidate import Model
from paretoken.errors import EngineError
from paretoken.models.dimensions import dimensions
from paretoken.models.gguf_header import read_header
from paretoken.study.budget import Budget
from paretoken.study.objectives import PURPOSES, objective_words
from paretoken.study.plan import Pace, Plan, make_plan, replanned
from paretoken.study.space import Space, space_for
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
        candidate = space.candidate(space.baseline)
        talk.line(f"First, the untouched model ({space.label(space.baseline)}): one request, live.")
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


def planned(steps: Steps, space: Space, pace: Pace, budget: Budget) -> Plan:
    """The plan, said aloud. What was spent by then is stored, so that a resume plans the same. Raises UsageError for a
    budget that is too short."""
    spent = steps.file.once("planned", budget.words, lambda: {"spent_s": steps.file.spent_s})
    plan = make_plan(
        budget=budget,
        spent_s=spent["spent_s"],
        streams=steps.streams,
        output_tokens=steps.objective.output_tokens,
        pace=pace,
        slo=steps.objective.slo,
    )
    _say(steps, space, plan)
    return plan


def _say(steps: Steps, space: Space, plan: Plan) -> None:
    talk = steps.bench.talk
    talk.line(f"Objective: {objective_words(steps.objective)}")
    if steps.objective.name is not None:
        talk.line(f"  {PURPOSES[steps.objective.name].why}")
    talk.line(
        f"{len(space.tree.points()):,} candidates: "
        + ", ".join(f"{axis.name} ({len(axis.options)})" for axis in space.tree.axes)
    )
    talk.line(f"Plan for study {steps.file.id} (about {show_duration(plan.total_s)}):")
    for step in plan.steps:
        talk.line(f"  {step.seconds / 60:4.1f} min  {step.name}")
    if plan.short:
        talk.line(f"  {plan.short}")


def keep_to_budget(steps: Steps, state: State) -> None:
    """What still fits, now that runs have shown how fast this hour is. Decided once a study and budget: a resume goes
    on with the same numbers."""

    def decide() -> dict[str, Any]:
        finalists = 2 if state.space.hand == state.space.baseline else 3
        plan = replanned(state.plan, spent_s=steps.file.spent_s, slower=_slower(state), finalists=finalists)
        if plan.short and plan.short != state.plan.short:
            steps.bench.talk.line(f"  {plan.short}")
        return {"positions": plan.final_positions, "short": plan.short, "ablations": plan.ablations}

    decided = steps.file.once("replanned", state.plan.budget.words, decide)
    state.plan = replace(
        state.plan,
        final_positions=decided["positions"],
        short=decided["short"],
        ablations=decided.get("ablations", 0),
    )


def _slower(state: State) -> float:
    """How many times as long runs took as the plan had thought, at the median; 1 if they were quicker."""
    took = [told.seconds / state.plan.expected_run_s(told.effort) for told in state.told if told.seconds > 0]
    return max(1.0, median(took)) if took else 1.0
