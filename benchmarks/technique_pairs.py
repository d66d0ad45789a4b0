"""What single techniques bring, each against the same candidate without it, in interleaved blocks (decision rule 4).

    .venv/bin/python benchmarks/technique_pairs.py [NAME ...]

Speculation by n-grams on free text and on copying, two processes of one thread against one process of two, the prompt
cache against none, the short sampler chain. Shows acceptance, hit rate and memory beside the speed. Writes
docs/results/technique-pairs.json after each pair. Measures alone: nothing else should run. About two minutes a pair.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from paretoken.core.objective import Load, Objective
from paretoken.metrics.reuse import cache_hit_rate, draft_acceptance
from paretoken.models.dimensions import dimensions
from paretoken.models.find import resolve
from paretoken.models.gguf_header import read_header
from paretoken.records.files import write_json
from paretoken.search.space import Option, Point
from paretoken.study.bench import Bench
from paretoken.study.file import StudyFile
from paretoken.study.finals import Side, effects, run_finals, side_of
from paretoken.study.space import Space, space_for
from paretoken.study.steps import Steps
from paretoken.study.target import EMBEDDED_MODEL
from paretoken.techniques import TECHNIQUES

PATH = Path(__file__).parents[1] / "docs" / "results" / "technique-pairs.json"
BLOCKS = 6
# Name → streams, workload, answer's tokens, the options of both sides, the technique that only the second has.
PAIRS: dict[str, tuple[int, str, int, dict[str, Option], tuple[str, Option]]] = {
    "speculation, free text": (1, "chat", 48, {}, ("speculate", "ngram-simple")),
    "speculation, copying": (1, "copying", 48, {}, ("speculate", "ngram-simple")),
    "2 x 1 thread against 1 x 2": (8, "chat", 32, {"batching": 8}, ("replicas", 2)),
    "short sampler chain": (8, "chat", 32, {"batching": 8}, ("samplers", "short")),
    "no prompt cache": (8, "chat", 32, {"batching": 8}, ("prompt_cache", False)),
    "flash attention off": (8, "chat", 32, {"batching": 8}, ("flash_attention", "off")),
}


def space_at(bench: Bench, streams: int) -> Space:
    model = resolve(EMBEDDED_MODEL)
    context = dimensions(read_header(model.path)).context_tokens
    defaults = bench.engine.settings_type().resolved(context).as_json()  # type: ignore[attr-defined]
    return space_for(model, engine="llamacpp", base_settings=defaults, streams=streams, tokens_per_request=400)


def measured(home: Path, name: str) -> dict[str, Any]:
    streams, asks, tokens, shared, (axis, option) = PAIRS[name]
    bench = Bench.at(home, "llamacpp")
    space = space_at(bench, streams)
    point: Point = space.baseline
    for other, chosen in shared.items():
        point = point.changed(other, chosen)
    before = space.candidate(point)
    if axis in {each.name for each in space.tree.axes}:
        after = space.candidate(point.changed(axis, option))
    else:  # what every candidate has, and only this pair is without
        after = TECHNIQUES.load(axis)().apply(before, {axis: option})
    load = Load(concurrency=streams)
    steps = Steps(bench, StudyFile(home / "studies" / f"pair-{len(name)}"), Objective(load, tokens), 5, None, asks=asks)
    found = run_finals(steps, [before, after], blocks=BLOCKS, requests=max(6, 2 * streams))
    if found.broken:
        return {"name": name, "broken": found.broken}
    sides = [side_of(side, found.by_label[side.label], load, None, 5) for side in (before, after)]
    return {
        "name": name,
        "streams": streams,
        "workload": asks,
        "output_tokens": tokens,
        "blocks": BLOCKS,
        "before": _side(sides[0]),
        "after": _side(sides[1]),
        "effects": [effect.as_json() for effect in effects(sides[0], sides[1], 0.03)],
    }


def _side(side: Side) -> dict[str, Any]:
    sizes = [block.memory_bytes for block in side.blocks if block.memory_bytes is not None]
    return {
        "label": side.candidate.label,
        "output_tok_s": side.summary["metrics"]["output_tok_s"],
        "ttft_p50_ms": side.summary["metrics"]["ttft_from_due_ms"]["p50"],
        "tpot_p50_ms": side.summary["metrics"]["tpot_ms"]["p50"],
        "cache_hit_rate": cache_hit_rate(side.records),
        "draft_acceptance": draft_acceptance(side.records),
        "memory_bytes": max(sizes, default=None),
    }


def main() -> None:
    document: dict[str, Any] = json.loads(PATH.read_text()) if PATH.exists() else {"schema": 1, "pairs": []}
    for name in sys.argv[1:] or PAIRS:
        with tempfile.TemporaryDirectory() as home:
            row = measured(Path(home), name)
            document["machine"] = Bench.at(Path(home), "llamacpp").machine
        document["pairs"] = [*(pair for pair in document["pairs"] if pair["name"] != name), row]
        write_json(PATH, document)
        rate = next((e for e in row.get("effects", []) if e["metric"] == "output_tok_s"), None)
        print(f"{name}: {rate['verdict'] if rate else row} {rate['ratio'] if rate else ''}", flush=True)


if __name__ == "__main__":
    main()
