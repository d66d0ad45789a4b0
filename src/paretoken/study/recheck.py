"""Does a study's recommendation still hold, here and today? Fresh interleaved blocks of it and its baseline.

Enters a finished study; leaves one verdict with its evidence, stored with the study. For a machine that changed, an
engine that was updated, or doubt: the roll-back threshold is that the recommended is no longer better.
"""

from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from paretoken.core.candidate import Candidate
from paretoken.core.objective import Load
from paretoken.errors import CaptureError
from paretoken.models.find import resolve
from paretoken.study.bench import Bench
from paretoken.study.finals import effect_in, effects, run_finals, side_of
from paretoken.study.objectives import objective_of
from paretoken.study.plan import block_requests
from paretoken.study.steps import Steps
from paretoken.study.studies import open_study, stored_result
from paretoken.study.talk import Talk
from paretoken.study.winner import winner_of

BLOCKS = 4
FIRST_BLOCK = 500  # numbers of workloads: the finals' are below, the search's above
MOST_RECHECKS = 50


def recheck(home: Path, study_id: str, *, talk: Talk | None = None) -> dict[str, Any]:
    """{"verdict": "holds" | "not settled" | "does not hold", "why", "then", "now", …}. Raises CaptureError, ModelError,
    EngineError, UsageError; KeyboardInterrupt ends it."""
    winner = winner_of(home, study_id)
    file = open_study(home, study_id)
    with closing(file):
        document = stored_result(file.folder)
        given = file.done("parameters", "study")
        if given is None:
            raise CaptureError(f"study {file.id} lacks its parameters, so nobody knows its load; begin a new one")
        bench = Bench.at(home, given["engine"], talk)
        objective = objective_of(
            given, Load(concurrency=given["concurrency"]), given["output_tokens"], given["behaviour_margin_nat"]
        )
        baseline = _baseline(document, given["model"])
        if baseline.key == winner.candidate.key:
            raise CaptureError(f"study {file.id} recommends its baseline, so there is nothing to check again")
        steps = Steps(bench, file, objective, given["seed"], None, asks=given.get("workload", "chat"))
        before = sum(file.done("recheck", str(number)) is not None for number in range(MOST_RECHECKS))
        first = FIRST_BLOCK + (before % MOST_RECHECKS) * BLOCKS
        requests = block_requests(steps.streams)
        bench.talk.line(f"{BLOCKS} interleaved blocks of {requests} requests: {winner.label} against {baseline.label}")
        sides = [baseline, winner.candidate]
        found = run_finals(steps, sides, blocks=BLOCKS, requests=requests, first_block=first)
        bench.talk.progress("")
        if found.interrupted:
            raise KeyboardInterrupt
        if found.broken:
            label, why = next(iter(found.broken.items()))
            result = {"verdict": "does not hold", "why": f"{label} broke: {why}", "now": None}
        else:
            both = [side_of(side, found.by_label[side.label], objective.load, None, steps.seed) for side in sides]
            effect = effect_in(effects(both[0], both[1], objective.effect_margin), objective.deciding_metric)
            assert effect is not None
            result = _judged(effect.as_json())
        then = next((e for e in document["verdicts"]["vs_baseline"] if e["metric"] == objective.deciding_metric), None)
        result = {"study": file.id, "of": winner.label, **result, "then": then}
        file.append("recheck", str(before), result)
    return result


def _judged(effect: dict[str, Any]) -> dict[str, Any]:
    ratio, verdict = effect["ratio"], effect["verdict"]
    known = ratio["value"] is not None and ratio["ci95"] is not None
    said = (
        f"{ratio['value']:.2f}× the baseline ({ratio['ci95'][0]:.2f} to {ratio['ci95'][1]:.2f})" if known else verdict
    )
    word = {"better": "holds", "same": "does not hold", "worse": "does not hold"}.get(verdict, "not settled")
    return {"verdict": word, "why": f"{effect['metric']} is {said}: {verdict}", "now": effect}


class _Side(msgspec.Struct):
    label: str
    engine: str
    engine_settings: dict[str, Any]


def _baseline(document: dict[str, Any], model_name: str) -> Candidate:
    """The study's baseline, from its document. Raises CaptureError where that is damaged."""
    try:
        found = msgspec.convert(document["baseline"]["candidate"], _Side)
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise CaptureError(f"the result of the study is damaged ({error}); run paretoken optimize again") from error
    return Candidate(found.label, found.engine, resolve(model_name), found.engine_settings)
