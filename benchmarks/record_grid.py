"""Records how fast every point of a grid of llama.cpp settings is, three times over, for replaying searches on it.

    .venv/bin/python benchmarks/record_grid.py 8|1 [--for SECONDS]

Writes docs/results/grid-STREAMS-streams.json after every run and goes on where it stopped; `--for` ends it after so
many seconds, between two runs. Each round over the grid has its own random order, so that a slow quarter of an hour
falls on no point alone; then the eight fastest are measured three times more, interleaved, since the best of many noisy
means is too good to be true. Measures alone: nothing else should run. About 30 minutes at 8 streams, 20 at 1.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

from paretoken.core.objective import Load
from paretoken.core.record import Record
from paretoken.errors import ParetokenError
from paretoken.models.dimensions import dimensions
from paretoken.models.find import resolve
from paretoken.models.gguf_header import read_header
from paretoken.records.files import write_json
from paretoken.search.space import Axis, Constraint, Option, Point, Tree
from paretoken.study.bench import Bench
from paretoken.study.limits import machine_limits
from paretoken.study.prior import prior_of
from paretoken.study.run import run_candidate
from paretoken.study.space import DEFAULT, Space, space_for
from paretoken.study.target import EMBEDDED_MODEL
from paretoken.workloads.chat import chat

RESULTS = Path(__file__).parents[1] / "docs" / "results"
OUTPUT_TOKENS = 16
REPEATS = 3
TOP = 8
# The options that are recorded, of each load: 48 points each. The first of an axis is the default.
GRIDS: dict[int, dict[str, tuple[Option, ...]]] = {
    8: {
        "quantize": (DEFAULT, "Q8_0", "F16"),
        "batching": (DEFAULT, 4, 8),
        "replicas": (DEFAULT, 2),
        "prefill_chunk": (DEFAULT, 64),
        "samplers": (DEFAULT, "short"),
    },
    1: {
        "quantize": (DEFAULT, "Q8_0", "F16"),
        "kv_cache": (DEFAULT, "q8_0"),
        "threads": (DEFAULT, 1),
        "speculate": (DEFAULT, "ngram-simple"),
        "samplers": (DEFAULT, "short"),
    },
}


def grid_of(space: Space, streams: int) -> Tree:
    wanted = GRIDS[streams]
    axes = []
    for axis in space.tree.axes:
        if axis.name in wanted:
            only_if = tuple(
                (name, tuple(o for o in os if o in wanted[name])) for name, os in axis.only_if if name in wanted
            )
            axes.append(Axis(axis.name, wanted[axis.name], axis.level, only_if))
    few = Constraint(
        "replicas",
        lambda point: point.get("replicas", DEFAULT) == DEFAULT or point["batching"] == 8,
        "the grid has replicas with all slots only",
    )
    return Tree(tuple(axes), (few,))


def halves(records: tuple[Record, ...], streams: int) -> list[dict[str, Any]]:
    """The run as it was when half of its requests had been answered, and at its end: requests, seconds since the first
    was due, and the tokens that had come by then over those seconds."""
    measured = [record for record in records if not record.warmup]
    ends = sorted(record.reply.ended_at for record in measured if record.reply.ended_at is not None)
    began = min(record.due_at for record in measured)
    found = []
    for count in (len(measured) // 2, len(measured)):
        until = ends[count - 1]
        tokens = sum(at <= until for record in measured for at in record.reply.chunk_at)
        found.append({"requests": count, "seconds": until - began, "output_tok_s": tokens / (until - began)})
    return found


def measured_run(bench: Bench, space: Space, point: Point, streams: int, seed: int) -> dict[str, Any]:
    workload = chat(
        requests=max(8, 2 * streams), output_tokens=OUTPUT_TOKENS, seed=seed, warmup=streams, warmup_output_tokens=4
    )
    began_s = time.monotonic()
    try:
        done = run_candidate(bench, space.candidate(point), workload, Load(concurrency=streams))
    except ParetokenError as error:
        return {"state": "crashed", "reason": str(error).splitlines()[0], "took_s": time.monotonic() - began_s}
    if done.failed_share:
        return {
            "state": "infeasible",
            "reason": f"{done.failed_share:.0%} failed",
            "took_s": time.monotonic() - began_s,
        }
    first = min(record.due_at for record in done.records if not record.warmup)
    return {
        "start_s": done.load_s,
        "warmup_s": first,
        "halves": halves(done.records, streams),
        "took_s": time.monotonic() - began_s,
        "doubts": [doubt.name for doubt in done.doubts],
    }


def state_of(runs: list[dict[str, Any]]) -> str:
    """Of a point: what its runs are, where all are well; else what the first bad one was."""
    return next((str(run["state"]) for run in runs if "halves" not in run), "complete")


def rate(run: Mapping[str, Any]) -> float:
    return float(run["halves"][-1]["output_tok_s"]) if "halves" in run else 0.0


def todo(document: dict[str, Any], points: list[Point], seed: int) -> tuple[str, int, int] | None:
    """(which list, point's place in it, repeat) of the next run; None when all is recorded."""
    for repeat in range(REPEATS):
        order = list(range(len(points)))
        random.Random(seed + repeat).shuffle(order)
        for place in order:
            if len(document["points"][place]["runs"]) <= repeat:
                return "points", place, repeat
    if not document["top"]:
        best = sorted(document["points"], key=lambda row: -mean(map(rate, row["runs"])))[:TOP]
        document["top"] = [{"point": row["point"], "runs": []} for row in best]
    for repeat in range(REPEATS):
        for place in range(TOP):
            if len(document["top"][place]["runs"]) <= repeat:
                return "top", place, repeat
    return None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("streams", type=int, choices=sorted(GRIDS))
    parser.add_argument("--for", dest="seconds", type=float, default=float("inf"))
    args = parser.parse_args()
    path = RESULTS / f"grid-{args.streams}-streams.json"
    until_s = time.monotonic() + args.seconds
    with tempfile.TemporaryDirectory() as home:
        bench = Bench.at(Path(home), "llamacpp")
        model = resolve(EMBEDDED_MODEL)
        defaults = bench.engine.settings_type().resolved(dimensions(read_header(model.path)).context_tokens).as_json()  # type: ignore[attr-defined]
        space = space_for(
            model, engine="llamacpp", base_settings=defaults, streams=args.streams, tokens_per_request=400
        )
        grid = grid_of(space, args.streams)
        points = list(grid.points())
        document = json.loads(path.read_text()) if path.exists() else new(bench, space, grid, points, args.streams)
        prior = prior_of(space, machine_limits(bench.machine), "chat")
        document["prior"] = [
            [*key, *expected] for key, expected in prior.items() if key[1] in GRIDS[args.streams].get(key[0], ())
        ]
        while time.monotonic() < until_s:
            found = todo(document, points, seed=args.streams)
            if found is None:
                write_json(path, document)
                print("all is recorded")
                return
            which, place, repeat = found
            row = document[which][place]
            point = Point.from_json(row["point"])
            run = measured_run(bench, space, point, args.streams, seed=repeat + (10 if which == "top" else 0))
            row["runs"].append(run)
            row["state"] = state_of(row["runs"])
            write_json(path, document)
            print(
                f"{which} {place} {repeat}: {space.label(point)}: {rate(run):.1f} tok/s, {run['took_s']:.1f} s",
                flush=True,
            )


def new(bench: Bench, space: Space, grid: Tree, points: list[Point], streams: int) -> dict[str, Any]:
    return {
        "schema": 1,
        "streams": streams,
        "output_tokens": OUTPUT_TOKENS,
        "engine": {"name": "llamacpp", **bench.engine.version()},
        "model": space.model.as_json(),
        "machine": bench.machine,
        "axes": [
            {
                "name": axis.name,
                "level": axis.level,
                "options": list(axis.options),
                "only_if": [[name, list(options)] for name, options in axis.only_if],
            }
            for axis in grid.axes
        ],
        "points": [{"point": point.as_json(), "label": space.label(point), "runs": []} for point in points],
        "top": [],
    }


if __name__ == "__main__":
    main()
