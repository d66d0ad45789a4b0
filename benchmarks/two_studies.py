"""Two whole studies of one load: do they choose the same, and are their choices equally fast?

    .venv/bin/python benchmarks/two_studies.py [--budget 8m] [--blocks 8] [--study ID --study ID]

Runs `optimize` twice with different seeds, then measures both recommendations against each other in interleaved blocks
(decision rule 4) and writes docs/results/two-studies.json: `same`, or the difference with its interval. `--study` takes
finished studies of HOME instead of running new ones. Measures alone: nothing else should run. About 20 minutes.
"""

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from paretoken.core.candidate import Candidate
from paretoken.core.objective import Load
from paretoken.records.files import write_json
from paretoken.study.bench import Bench
from paretoken.study.file import StudyFile
from paretoken.study.finals import effects, run_finals, side_of
from paretoken.study.objectives import objective_of
from paretoken.study.optimize import optimize
from paretoken.study.plan import block_requests
from paretoken.study.steps import Steps
from paretoken.study.winner import winner_of

RESULTS = Path(__file__).parents[1] / "docs" / "results"
SEEDS = (0, 1)
STREAMS, OUTPUT_TOKENS = 8, 32


def compared(home: Path, ids: list[str], blocks: int) -> dict[str, Any]:
    one, two = (winner_of(home, study_id).candidate for study_id in ids)
    if one.key == two.key:
        # One candidate twice is an A/A comparison; its two sides need two names.
        two = replace(two, label=f"{two.label} (second study)")
    load = Load(concurrency=STREAMS)
    objective = objective_of({}, load, OUTPUT_TOKENS, 0.01)
    steps = Steps(Bench.at(home, "llamacpp"), StudyFile(home / "studies" / "comparison"), objective, 99, None)
    sides = [one, two]
    found = run_finals(_unshared(steps), sides, blocks=blocks, requests=block_requests(STREAMS))
    if found.broken:
        raise SystemExit(f"a side broke: {found.broken}")
    first, second = (side_of(side, found.by_label[side.label], load, None, 99) for side in sides)
    return {
        "labels": [side.label for side in sides],
        "same_candidate": one.key == two.key,
        "blocks": blocks,
        "effects": [effect.as_json() for effect in effects(first, second, objective.effect_margin)],
        "block_values": {
            side.candidate.label: {k: list(v) for k, v in side.values.items()} for side in (first, second)
        },
    }


def _unshared(steps: Steps) -> Steps:
    """Steps are kept by what a candidate is, and two studies may have chosen the very same: here each side's blocks are
    its own."""

    class Unshared(Steps):
        def key(self, candidate: Candidate, workload: Any) -> str:
            return f"{super().key(candidate, workload)}/{candidate.label}"

    return Unshared(steps.bench, steps.file, steps.objective, steps.seed, steps.price)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--budget")
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--study", action="append", default=[])
    args = parser.parse_args()
    home = args.home or Path(tempfile.mkdtemp(prefix="paretoken-two-"))
    ids = list(args.study)
    for seed in SEEDS[len(ids) :]:
        study = optimize(
            concurrency=STREAMS, output_tokens=OUTPUT_TOKENS, budget=args.budget, seed=seed, home=home, talk=_Said()
        )
        ids.append(study.id)
    documents = [json.loads((home / "studies" / study_id / "result.json").read_text()) for study_id in ids]
    result = {
        "schema": 1,
        "command": ".venv/bin/python benchmarks/two_studies.py",
        "budget": args.budget or "default",
        "machine": documents[0]["provenance"]["hardware"],
        "studies": [
            {
                "study": document["study"],
                "seed": document["provenance"]["seed"],
                "recommended": (document["recommended"] or {}).get("label"),
                "why": document["why"],
                "vs_baseline": document["verdicts"]["vs_baseline"],
                "vs_hand_setting": document["verdicts"]["vs_hand_setting"],
            }
            for document in documents
        ],
        "comparison": None,
    }
    if all(document["recommended"] for document in documents):
        result["comparison"] = compared(home, ids, args.blocks)
    RESULTS.mkdir(parents=True, exist_ok=True)
    write_json(RESULTS / "two-studies.json", result)
    print(f"home: {home}")
    print(json.dumps({k: v for k, v in result.items() if k != "machine"}, indent=1)[:3000])


class _Said:
    """Lines on stdout, no progress: this is watched in a log."""

    def line(self, text: str) -> None:
        print(text, flush=True)

    def progress(self, text: str) -> None:
        pass

    def raw(self, text: str) -> None:
        pass


if __name__ == "__main__":
    main()
