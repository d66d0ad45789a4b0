"""Twenty A/A comparisons on the real engine: one candidate against itself, judged as finals are. How often is it wrong?

    .venv/bin/python benchmarks/aa.py [--comparisons 20]

Each comparison is six interleaved blocks a side, each with an engine of its own, as in a study's finals (but shorter:
one stream, six answers of twelve tokens). Measures alone. Every comparison is stored in docs/results/aa.json as it
ends; a second call goes on from there.
"""

import argparse
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from paretoken.core.candidate import Candidate
from paretoken.core.objective import Load, Objective
from paretoken.machine.describe import describe
from paretoken.models.find import resolve
from paretoken.study.bench import Bench
from paretoken.study.file import StudyFile
from paretoken.study.finals import effects, run_finals, side_of
from paretoken.study.plan import FINAL_BLOCKS
from paretoken.study.steps import Steps

RESULT = Path(__file__).parents[1] / "docs" / "results" / "aa.json"
STREAMS, OUTPUT_TOKENS, REQUESTS = 1, 12, 6
SETTINGS = {"slots": 1, "context_per_slot": 512}


def compare(number: int) -> dict[str, Any]:
    """One A/A comparison: its three effects, and each side's block values."""
    model = resolve("smollm2-135m")
    load = Load(concurrency=STREAMS)
    with TemporaryDirectory() as home:
        bench = Bench.at(Path(home), "llamacpp")
        steps = Steps(bench, StudyFile(Path(home) / "S"), Objective(load, OUTPUT_TOKENS), seed=number, price=None)
        # A stored step is found by its settings, not by its label: B says its default aloud, so that it is run too.
        a = Candidate("A", "llamacpp", model, SETTINGS)
        b = Candidate("B", "llamacpp", model, {**SETTINGS, "speculation": "none"})
        found = run_finals(steps, [a, b], blocks=FINAL_BLOCKS, requests=REQUESTS)
        sides = [side_of(side, found.by_label[side.label], load, None, number) for side in (a, b)]
        judged = effects(sides[0], sides[1], 0.03)
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "effects": [effect.as_json() for effect in judged],
        "blocks": {side.candidate.label: {k: list(v) for k, v in side.values.items()} for side in sides},
        "doubts": sorted({doubt.name for side in sides for block in side.blocks for doubt in block.doubts}),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=20)
    wanted = parser.parse_args().comparisons
    stored: dict[str, Any] = (
        json.loads(RESULT.read_text()) if RESULT.exists() else {"machine": describe(), "comparisons": []}
    )
    while len(stored["comparisons"]) < wanted:
        began = time.monotonic()
        stored["comparisons"].append(compare(len(stored["comparisons"]) + 1))
        stored["counts"] = counted(stored["comparisons"])
        RESULT.parent.mkdir(parents=True, exist_ok=True)
        RESULT.write_text(json.dumps(stored, indent=1) + "\n")
        print(f"{len(stored['comparisons'])} of {wanted} in {time.monotonic() - began:.0f} s: {stored['counts']}")


def counted(comparisons: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """metric → verdict → how often."""
    found: dict[str, dict[str, int]] = {}
    for comparison in comparisons:
        for effect in comparison["effects"]:
            verdicts = found.setdefault(effect["metric"], {})
            verdicts[effect["verdict"]] = verdicts.get(effect["verdict"], 0) + 1
    return found


if __name__ == "__main__":
    main()
