"""The verb `optimize`: baseline, hand setting, candidates; screening, verification, finals; one recommendation.

Enters a model and a load; leaves a Study: a document (docs/flow.md) and a folder that holds every step. The order is
the story: look at the untouched model, say the plan, drop what changed the behaviour, choose by speed, verify the
choice, and only then decide on fresh blocks.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from paretoken.core.candidate import Candidate, Model
from paretoken.core.objective import Load
from paretoken.core.trial import Trial
from paretoken.core.verdict import Effect
from paretoken.errors import CaptureError, EngineError, MissingExtraError, ModelError, ParetokenError, UsageError
from paretoken.machine.limits import Limits
from paretoken.metrics.cost import Price
from paretoken.metrics.slo import held, per_request
from paretoken.models.dimensions import dimensions
from paretoken.models.find import resolve
from paretoken.models.gguf_header import read_header
from paretoken.records.files import write_json
from paretoken.study.bench import Bench
from paretoken.study.choose import GATE_PASSES, Choice, Entrant, finalists_in_order, recommend
from paretoken.study.file import RESULT_FILE, StudyFile
from paretoken.study.finals import RATE, Side, effect_in, effects_against, run_finals, side_of, worse_than
from paretoken.study.limits import machine_limits
from paretoken.study.objectives import PURPOSES, asked_for, objective_of, objective_words
from paretoken.study.plan import Pace, Plan, make_plan
from paretoken.study.result import document_of
from paretoken.study.space import BASELINE, Point, Space, space_for
from paretoken.study.steps import Block, Steps
from paretoken.study.studies import open_study
from paretoken.study.talk import Talk
from paretoken.study.target import EMBEDDED_MODEL
from paretoken.study.trace import PROMPT, Watcher, trace_on
from paretoken.units import parse_duration_s, show_duration

WORDS_TO_TOKENS = 1.5  # generous: a context that is too small is refused, one too large costs a little memory
TEMPLATE_TOKENS = 48
FEWEST_BLOCKS = 2  # below, blocks cannot show how much they scatter


@dataclass(frozen=True, slots=True)
class Study:
    """`document` is what `paretoken optimize --json` prints; `folder` holds it as result.json."""

    id: str
    folder: Path
    document: dict[str, Any]

    @property
    def recommended(self) -> dict[str, Any] | None:
        """The recommended candidate's part of the document, or None when nothing could be recommended."""
        found: dict[str, Any] | None = self.document["recommended"]
        return found


@dataclass
class State:
    """What is known so far; Ctrl-C reports from it."""

    space: Space
    plan: Plan
    limits: Limits | None
    models: dict[str, Model] = field(default_factory=dict)  # number type → made model
    screens: dict[str, dict[str, Any]] = field(default_factory=dict)  # number type → behaviour at few positions
    trials: list[Trial] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    finalist: Candidate | None = None
    behaviour: dict[str, Any] | None = None  # of the finalist; None: it has the weights as given
    intact: dict[str, dict[str, Any]] = field(default_factory=dict)  # label → its service settings' verdict
    sides: dict[str, Side] = field(default_factory=dict)
    interrupted: bool = False


def optimize(
    model: str = EMBEDDED_MODEL,
    *,
    concurrency: int = 8,
    output_tokens: int = 32,
    budget: str = "8m",
    purpose: str | None = None,
    slo: str | None = None,
    goal: str | None = None,
    behaviour_margin_nat: float = 0.01,
    price: Price | None = None,
    resume: str | None = None,
    engine: str = "llamacpp",
    seed: int = 0,
    home: Path = Path(".paretoken"),
    talk: Talk | None = None,
) -> Study:
    """Find the configuration that serves the objective best and whose answers stay the same.

    `purpose` is a named objective (study/objectives.py), `slo` limits such as "p95 ttft < 2s, p95 tpot < 100ms", `goal`
    what to improve inside them: cost (the default), throughput, latency or goodput. The load is a closed loop of
    `concurrency` streams with answers of `output_tokens` tokens. `resume` is a study's ID, or "" for the newest: it
    goes on where it stopped, with the parameters it was started with. Raises ModelError, EngineError, UsageError,
    MissingExtraError; a candidate that crashes is a trial's state, not an error.
    """
    bench = Bench.at(home, engine, talk)
    if bench.engine.missing() is not None:
        raise MissingExtraError("optimize", "local")
    asked = {
        "model": model,
        "concurrency": concurrency,
        "output_tokens": output_tokens,
        "budget_s": parse_duration_s(budget),
        "behaviour_margin_nat": behaviour_margin_nat,
        **asked_for(purpose, slo, goal),
        "engine": engine,
        "seed": seed,
        "price": None if price is None else price.as_json(),
        "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if resume is None:
        resolve(model, say=bench.talk.line)  # a study of a model that is not there would be the newest for nothing
    file = open_study(home, resume)
    with closing(file):
        given = file.once("parameters", "study", lambda: asked)
        try:
            steps = _steps_from(bench, file, given)
            state = _search(steps, given)
        except KeyError as error:
            if resume is None:
                raise  # nothing stored was read, so nothing stored is damaged
            raise CaptureError(f"study {file.id} is damaged: it lacks {error}; begin a new one") from error
        document = document_of(steps, state, _choice(steps, state), given["started_at"])
        write_json(file.folder / RESULT_FILE, document)
    return Study(file.id, file.folder, document)


def _steps_from(bench: Bench, file: StudyFile, given: dict[str, Any]) -> Steps:
    """A study goes on with the parameters that it was begun with."""
    if given["engine"] != bench.engine.name:
        raise UsageError(f"study {file.id} was begun with the engine '{given['engine']}'; use that one")
    load = Load(concurrency=given["concurrency"])
    objective = objective_of(given, load, given["output_tokens"], given["behaviour_margin_nat"])
    price = None if given["price"] is None else _price_from(given["price"])
    return Steps(bench, file, objective, given["seed"], price)


def _price_from(stored: dict[str, Any]) -> Price:
    return Price(float(stored["price_per_hour"]), stored["currency"], stored["source"], stored["as_of"])


def _search(steps: Steps, given: dict[str, Any]) -> State:
    """Everything that runs something; Ctrl-C ends it early and keeps what is known."""
    talk = steps.bench.talk
    base = resolve(given["model"], say=talk.line)
    space = _space(steps, base)
    pace = _first_look(steps, space)
    try:
        limits = machine_limits(steps.bench.machine)
    except ParetokenError as error:
        talk.line(f"Utilisation will be unknown: {error}")
        limits = None
    plan = make_plan(
        budget_s=given["budget_s"],
        streams=steps.streams,
        output_tokens=steps.objective.output_tokens,
        new_models=len(space.number_types()),
        candidates=len(space.most_slots()) + 1,
        pace=pace,
        slo=steps.objective.slo,
    )
    _say_plan(steps, plan)
    state = State(space, plan, limits)
    try:
        _make_models(steps, state)
        _screen_speed(steps, state)
        _verify_finalist(steps, state)
        _finals(steps, state)
    except KeyboardInterrupt:
        talk.progress("")
        talk.line("Interrupted: reporting what is known so far.")
        state.interrupted = True
    return state


def _space(steps: Steps, base: Model) -> Space:
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


def _first_look(steps: Steps, space: Space) -> Pace:
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


def _say_plan(steps: Steps, plan: Plan) -> None:
    talk = steps.bench.talk
    talk.line(f"Objective: {objective_words(steps.objective)}")
    if steps.objective.name is not None:
        talk.line(f"  {PURPOSES[steps.objective.name].why}")
    talk.line(f"Plan for study {steps.file.id} (about {show_duration(plan.total_s)}):")
    for step in plan.steps:
        talk.line(f"  {step.seconds / 60:4.1f} min  {step.name}")
    if plan.short:
        talk.line(f"  {plan.short}")


def _make_models(steps: Steps, state: State) -> None:
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
        talk.line(f"  {number_type}: {found['verdict']} ({_kld_words(found)})")


def _kld_words(behaviour: dict[str, Any]) -> str:
    kld = behaviour.get("kld") or {}
    top = behaviour.get("same_top") or {}
    if kld.get("value") is None:
        return str(behaviour.get("reason"))
    return f"KLD {kld['value']:.4f} nat, same top token {top['value']:.1%} of {behaviour['positions']} positions"


def _screen_speed(steps: Steps, state: State) -> None:
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
        _refuse(steps, state, trial, behaviour)
    else:
        state.trials.append(trial)


def _refuse(steps: Steps, state: State, trial: Trial, behaviour: dict[str, Any]) -> None:
    label = trial.candidate.label
    state.trials = [kept for kept in state.trials if kept.id != trial.id]
    reason = f"its behaviour {_refusal(behaviour['verdict'])}: {behaviour.get('reason') or _kld_words(behaviour)}"
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


def _verify_finalist(steps: Steps, state: State) -> None:
    """The fastest screened candidate whose behaviour passes on many positions and whose slots are intact; and the hand
    setting's slots, which have to be intact like anyone's."""
    talk, space = steps.bench.talk, state.space
    hand = space.candidate(space.hand)
    _check_slots(steps, state, hand)
    for trial in finalists_in_order(state.trials, [space.label(BASELINE), hand.label], steps.objective):
        candidate = trial.candidate
        behaviour = None
        if candidate.model.fingerprint != space.model.fingerprint:
            talk.progress(f"verifying {candidate.label}")
            behaviour = steps.verify_model(space.model, candidate.model, state.plan.final_positions)
            talk.line(f"  verified {candidate.label}: {behaviour['verdict']} ({_kld_words(behaviour)})")
            if behaviour["verdict"] not in GATE_PASSES:
                _refuse(steps, state, trial, behaviour)
                continue
        if _check_slots(steps, state, candidate) != "intact":
            continue
        state.finalist, state.behaviour = candidate, behaviour
        return


def _check_slots(steps: Steps, state: State, candidate: Candidate) -> str:
    """intact, not_intact or inconclusive; one slot changes nothing and needs no look."""
    if int(candidate.engine_settings.get("slots", 1)) <= 1:
        return "intact"
    steps.bench.talk.progress(f"checking that the slots of {candidate.label} change only when tokens come")
    found = steps.verify_slots(candidate)
    state.intact[candidate.label] = found
    verdict = str(found["verdict"])
    steps.bench.talk.line(f"  service settings of {candidate.label}: {verdict.replace('_', ' ')}")
    return verdict


def _finals(steps: Steps, state: State) -> None:
    """Baseline, hand setting and finalist; the baseline alone where nobody else is left."""
    space, plan = state.space, state.plan
    entrants = [space.candidate(BASELINE)]
    if space.hand != BASELINE:
        entrants.append(space.candidate(space.hand))
    if state.finalist is not None:
        entrants.append(state.finalist)
    steps.bench.talk.line(f"Finals: {', '.join(candidate.label for candidate in entrants)}")
    found = run_finals(steps, entrants, blocks=plan.blocks, requests=plan.requests_per_block)
    steps.bench.talk.progress("")
    whole = found.whole_blocks
    if found.interrupted:
        state.interrupted = True
        steps.bench.talk.line(f"Interrupted: reporting the {whole} of {plan.blocks} blocks that every finalist has.")
    for candidate in entrants:
        if candidate.label in found.broken:
            _drop_finalist(state, candidate, found.broken[candidate.label])
        elif whole >= FEWEST_BLOCKS:
            blocks = found.by_label[candidate.label][:whole]
            side = _side(steps, candidate, blocks)
            state.sides[candidate.label] = side


def _side(steps: Steps, candidate: Candidate, blocks: Sequence[Block]) -> Side:
    objective = steps.objective
    return side_of(candidate, blocks, objective.load, steps.price, steps.seed, per_request(objective.slo))


def _drop_finalist(state: State, candidate: Candidate, reason: str) -> None:
    state.trials.append(Trial("finals", "finals", candidate, "crashed", reason))
    if state.finalist == candidate:
        state.finalist, state.behaviour = None, None


def _choice(steps: Steps, state: State) -> Choice:
    """Who is recommended, by the finals alone."""
    space = state.space
    baseline = state.sides.get(space.label(BASELINE))
    if baseline is None:
        why = (
            "the study was interrupted before its finals had two blocks each; go on with --resume"
            if state.interrupted
            else "the baseline broke in the finals"
        )
        return Choice(None, why)
    hand_side = None if space.hand == BASELINE else state.sides.get(space.label(space.hand))
    # At one stream the expert sets nothing by hand: then the baseline is what nothing may be worse than.
    by_hand = baseline if space.hand == BASELINE else hand_side
    finalist_side = None if state.finalist is None else state.sides.get(state.finalist.label)
    hand = None if hand_side is None else _entrant(steps, state, hand_side, None)
    finalist = None if finalist_side is None else _entrant(steps, state, finalist_side, by_hand)
    return recommend(_entrant(steps, state, baseline, None), hand, finalist)


def _entrant(steps: Steps, state: State, side: Side, by_hand: Side | None) -> Entrant:
    """`by_hand`: what an expert would have set, for the finalist only."""
    objective, space, label = steps.objective, state.space, side.candidate.label

    def against(point: Point) -> Effect | None:
        found = effects_against(
            state.sides, space.label(point), objective.effect_margin, baseline=space.label(BASELINE)
        )
        return effect_in(found.get(label, []), objective.deciding_metric)

    is_finalist = side.candidate == state.finalist
    behaviour = state.behaviour if is_finalist and state.behaviour is not None else {"verdict": "equivalent"}
    return Entrant(
        label,
        vs_baseline=against(BASELINE),
        vs_hand=None if space.hand == BASELINE else against(space.hand),
        behaviour=behaviour["verdict"],
        intact=state.intact.get(label, {"verdict": "intact"})["verdict"],
        failed_share=side.failed_share,
        worse_than_hand=None if by_hand is None else worse_than(side, by_hand, objective),
        slo=held(objective.slo, side.summary["metrics"]),
    )
