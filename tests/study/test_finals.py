"""The finals on the scripted engine: order, who breaks, who is interrupted, what is run again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paretoken.core.candidate import Candidate, Model
from paretoken.core.objective import Load, Objective
from paretoken.core.record import Reply
from paretoken.engines.script import Script
from paretoken.metrics.slo import parse_slo
from paretoken.study.bench import Bench
from paretoken.study.file import STUDY_FILE, StudyFile
from paretoken.study.finals import Side, doubts_of_side, effects, effects_against, run_finals, side_of, worse_than
from paretoken.study.steps import Block, Steps
from tests.made import closed_loop

MODEL = Model("m", "m.gguf", "f" * 64, 1)
LOAD = Load(concurrency=2)


def steps_at(home: Path) -> Steps:
    bench = Bench.at(home, "scripted")
    return Steps(bench, StudyFile(home / "studies" / "S"), Objective(LOAD, output_tokens=4), seed=0, price=None)


def candidate(label: str, gap_s: float, **settings: Any) -> Candidate:
    scripts = [Script(ttft_s=gap_s, gap_s=gap_s).as_json()]
    return Candidate(label, "scripted", MODEL, {"scripts": scripts, **settings})


def test_a_slower_candidate_is_worse_and_a_faster_one_better(tmp_path: Path) -> None:
    steps = steps_at(tmp_path)
    slow, fast = candidate("slow", 0.04), candidate("fast", 0.01)
    found = run_finals(steps, [slow, fast], blocks=3, requests=8)
    assert found.whole_blocks == 3
    sides = {c.label: side_of(c, found.by_label[c.label], LOAD, None, 0) for c in (slow, fast)}
    assert effects(sides["slow"], sides["fast"], 0.03)[0].verdict == "better"
    assert effects(sides["fast"], sides["slow"], 0.03)[0].verdict == "worse"
    wish = Objective(LOAD, output_tokens=4)
    assert worse_than(sides["slow"], sides["fast"], wish) is not None
    assert worse_than(sides["fast"], sides["slow"], wish) is None
    bounded = Objective(LOAD, output_tokens=4, slo=parse_slo("p95 ttft < 10s"))
    assert worse_than(sides["slow"], sides["fast"], bounded) is None  # the SLO says how far waits may be traded


def test_who_dies_in_the_finals_is_out_and_the_others_go_on(tmp_path: Path) -> None:
    weak = candidate("weak", 0.002, die_at_request=5, death="segv")
    found = run_finals(steps_at(tmp_path), [candidate("fine", 0.002), weak], blocks=2, requests=4)
    assert "SIGSEGV" in found.broken["weak"]
    assert len(found.by_label["fine"]) == 2
    assert found.whole_blocks == 2


def test_a_resume_runs_nothing_again_because_somebody_broke(tmp_path: Path) -> None:
    entrants = [candidate("weak", 0.002, die_at_request=5, death="segv"), candidate("fine", 0.002)]
    first = run_finals(steps_at(tmp_path), entrants, blocks=2, requests=4)
    again = run_finals(steps_at(tmp_path), entrants, blocks=2, requests=4)
    assert again.broken == first.broken
    assert [block.run_id for block in again.by_label["fine"]] == [block.run_id for block in first.by_label["fine"]]


@pytest.mark.parametrize("damage", ["cut", "doubled", "empty", "gone"])
def test_a_block_whose_records_are_not_whole_is_run_again(tmp_path: Path, damage: str) -> None:
    entrants = [candidate("a", 0.002), candidate("b", 0.003)]
    first = run_finals(steps_at(tmp_path), entrants, blocks=1, requests=4)
    lost = first.by_label["a"][0]
    path = tmp_path / "runs" / lost.run_id / "records.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    if damage == "gone":
        path.unlink()
    else:
        path.write_text("".join({"cut": lines[:-1], "doubled": lines * 2, "empty": []}[damage]))
    again = run_finals(steps_at(tmp_path), entrants, blocks=1, requests=4)
    assert again.by_label["a"][0].run_id != lost.run_id
    assert len(again.by_label["a"][0].records) == len(lost.records)
    assert again.by_label["b"][0].run_id != first.by_label["b"][0].run_id, "pairs are neighbours in time"


def side(label: str, duration_s: float, *, fails_every: int = 0) -> Side:
    """Six blocks of 16 requests on two streams; every so many of them fail after the same time."""
    blocks = []
    for block in range(6):
        scatter = 1 + 0.01 * ((block * 7 + len(label)) % 3 - 1)
        records = [
            replace(r, outcome="failed", reply=Reply("timeout")) if fails_every and i % fails_every == 0 else r
            for i, r in enumerate(closed_loop(2, [duration_s * scatter] * 16))
        ]
        blocks.append(Block(f"{label}{block}", tuple(records), (), "kernel"))
    return side_of(Candidate(label, "scripted", MODEL, {}), blocks, LOAD, None, 0)


def test_a_reference_that_fails_its_requests_is_no_slow_one() -> None:
    sides = {"B": side("B", 1.0, fails_every=2), "F": side("F", 1.0)}
    found = effects_against(sides, "B", 0.03)["F"]
    assert {effect.verdict for effect in found} == {"invalid"}
    assert "50% of the requests to B failed" in str(found[0].reason)


def test_several_finalists_are_judged_together() -> None:
    sides = {"B": side("B", 1.0), "H": side("H", 0.8), "F": side("F", 0.7)}
    found = effects_against(sides, "B", 0.03, baseline="B")
    assert set(found) == {"H", "F"}
    assert any("Holm" in str(each[0].reason) for each in found.values())
    assert found["F"][0].verdict == "better"
    alone = effects_against(sides, "H", 0.03, baseline="B")
    assert set(alone) == {"F"} and "Holm" not in str(alone["F"][0].reason)


def test_a_p95_without_an_upper_end_is_doubted() -> None:
    whole = side("F", 1.0)
    short = replace(whole, summary={**whole.summary, "metrics": {**whole.summary["metrics"]}})
    short.summary["metrics"]["tpot_ms"] = {**whole.summary["metrics"]["tpot_ms"], "ci95": {"p95": [1.0, None]}}
    assert "too_few_requests" not in [doubt.name for doubt in doubts_of_side(whole)]
    assert any("tpot_ms has no upper end" in doubt.seen for doubt in doubts_of_side(short))


def test_ctrl_c_keeps_the_whole_blocks_and_resume_runs_the_half_one_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entrants = [candidate("a", 0.002), candidate("b", 0.003)]
    steps = steps_at(tmp_path)
    stored = steps.file.folder / STUDY_FILE

    def stop_at_the_fourth(self: Steps, *args: Any, **words: Any) -> Any:
        if stored.exists() and len(stored.read_text().splitlines()) == 3:
            raise KeyboardInterrupt
        return real(self, *args, **words)

    real = Steps.block
    monkeypatch.setattr(Steps, "block", stop_at_the_fourth)
    first = run_finals(steps, entrants, blocks=2, requests=4)
    monkeypatch.undo()
    assert first.interrupted
    assert first.whole_blocks == 1
    half = [block.run_id for blocks in first.by_label.values() for block in blocks[1:]]
    assert len(half) == 1
    again = run_finals(steps_at(tmp_path), entrants, blocks=2, requests=4)
    assert again.whole_blocks == 2
    runs = [[block.run_id for block in again.by_label[label]] for label in ("a", "b")]
    assert [run[0] for run in runs] == [first.by_label[label][0].run_id for label in ("a", "b")]
    assert not set(half) & {run[1] for run in runs}, "pairs of one block are neighbours in time"
