"""The verb `optimize`: baseline, hand setting, candidates; screening, verification, finals; one recommendation.

Enters a model and a load; leaves a Study: a document (docs/flow.md) and a folder that holds every step. The order is
the story: look at the untouched model, say the plan, search (what changed the behaviour is refused), verify the choice,
and only then decide on fresh blocks, with each technique of the choice measured apart.
"""

from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from paretoken.core.objective import Load
from paretoken.errors import CaptureError, MissingExtraError, ParetokenError, UsageError
from paretoken.metrics.cost import Price
from paretoken.models.find import resolve
from paretoken.records.files import write_json
from paretoken.search import STRATEGIES
from paretoken.study.bench import Bench
from paretoken.study.budget import Budget, parse_budget
from paretoken.study.deciding import choose_by_finals, hold_finals, verify_finalist
from paretoken.study.file import RESULT_FILE, StudyFile
from paretoken.study.limits import machine_limits
from paretoken.study.objectives import asked_for, objective_of
from paretoken.study.outset import first_look, keep_to_budget, planned, space_of
from paretoken.study.refusals import ask_the_refused
from paretoken.study.result import document_of
from paretoken.study.searching import search
from paretoken.study.state import State
from paretoken.study.steps import Steps
from paretoken.study.studies import open_study
from paretoken.study.talk import Talk
from paretoken.study.target import EMBEDDED_MODEL
from paretoken.workloads import WORKLOADS


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


def optimize(
    model: str = EMBEDDED_MODEL,
    *,
    concurrency: int = 8,
    output_tokens: int = 32,
    budget: str | None = None,
    purpose: str | None = None,
    slo: str | None = None,
    goal: str | None = None,
    behaviour_margin_nat: float = 0.01,
    price: Price | None = None,
    resume: str | None = None,
    engine: str = "llamacpp",
    strategy: str = "racing",
    workload: str = "chat",
    seed: int = 0,
    home: Path = Path(".paretoken"),
    talk: Talk | None = None,
) -> Study:
    """Find the configuration that serves the objective best and whose answers stay the same.

    `purpose` is a named objective (study/objectives.py), `slo` limits such as "p95 ttft < 2s, p95 tpot < 100ms", `goal`
    what to improve inside them: cost (the default), throughput, latency or goodput. The load is a closed loop of
    `concurrency` streams of `workload` (workloads/) with answers of `output_tokens` tokens. `budget` is a time ("8m")
    or a number of trials ("12 trials"); without one it takes what the finals need, about eight minutes. `strategy` says
    what to try next (search/). `resume` is a study's ID, or "" for the newest: it goes on where it stopped, with the
    parameters it was started with; only the budget may be another. Raises ModelError, EngineError, UsageError,
    MissingExtraError; a candidate that crashes is a trial's state, not an error.
    """
    bench = Bench.at(home, engine, talk)
    if bench.engine.missing() is not None:
        raise MissingExtraError("optimize", "local")
    asked = {
        "model": model,
        "concurrency": concurrency,
        "output_tokens": output_tokens,
        **parse_budget(budget).as_json(),
        "behaviour_margin_nat": behaviour_margin_nat,
        **asked_for(purpose, slo, goal),
        "engine": engine,
        "strategy": strategy,
        "workload": workload,
        "seed": seed,
        "price": None if price is None else price.as_json(),
        "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    STRATEGIES.load(strategy)
    WORKLOADS.load(workload)
    if resume is None:
        resolve(model, say=bench.talk.line)  # a study of a model that is not there would be the newest for nothing
    file = open_study(home, resume)
    with closing(file):
        if resume is not None and file.done("parameters", "study") is None:
            raise CaptureError(f"study {file.id} lacks its parameters, so nobody knows what it was; begin a new one")
        given = file.once("parameters", "study", lambda: asked)
        steps = _steps_from(bench, file, given)
        state = _search(steps, given, Budget.from_json(given) if budget is None else parse_budget(budget))
        document = document_of(steps, state, choose_by_finals(steps, state), given["started_at"])
        write_json(file.folder / RESULT_FILE, document)
    return Study(file.id, file.folder, document)


def _steps_from(bench: Bench, file: StudyFile, given: dict[str, Any]) -> Steps:
    """A study goes on with the parameters that it was begun with."""
    if given["engine"] != bench.engine.name:
        raise UsageError(f"study {file.id} was begun with the engine '{given['engine']}'; use that one")
    load = Load(concurrency=given["concurrency"])
    objective = objective_of(given, load, given["output_tokens"], given["behaviour_margin_nat"])
    price = None if given["price"] is None else _price_from(given["price"])
    return Steps(
        bench, file, objective, given["seed"], price, given.get("strategy", "racing"), given.get("workload", "chat")
    )


def _price_from(stored: dict[str, Any]) -> Price:
    return Price(float(stored["price_per_hour"]), stored["currency"], stored["source"], stored["as_of"])


def _search(steps: Steps, given: dict[str, Any], budget: Budget) -> State:
    """Everything that runs something; Ctrl-C ends it early and keeps what is known."""
    talk = steps.bench.talk
    base = resolve(given["model"], say=talk.line)
    space = space_of(steps, base)
    pace = first_look(steps, space)
    try:
        limits = machine_limits(steps.bench.machine)
    except ParetokenError as error:
        talk.line(f"Utilisation will be unknown: {error}")
        limits = None
    state = State(space, planned(steps, space, pace, budget), limits)
    try:
        search(steps, state)
        keep_to_budget(steps, state)
        verify_finalist(steps, state)
        ask_the_refused(steps, state)
        hold_finals(steps, state)
    except KeyboardInterrupt:
        talk.progress("")
        talk.line("Interrupted: reporting what is known so far.")
        state.interrupted = True
    return state
