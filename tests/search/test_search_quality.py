"""The benchmark that replays recorded grids: what it reads, what a run costs, and when a budget ends."""

import math
from typing import Any

import pytest

from benchmarks.search_quality import BUDGETS, Replay, judged_grid, play, read_grid, table
from paretoken.errors import CaptureError
from paretoken.search.base import Ask, Problem, Told
from paretoken.search.space import Point
from paretoken.search.strategies.grid import Grid as InOrder

from .surfaces import SMALL, Surface, surface


def recorded(on: Surface) -> dict[str, Any]:
    """A grid as the recorder writes it: three runs a point; the drafts of 8 crashed at 4 slots."""

    def runs(point: Point, first: int) -> list[dict[str, Any]]:
        found = []
        for number in range(first, first + 3):
            half, whole = (on.run(Ask(point, effort), 1000 * number + len(point)) for effort in (0.5, 1.0))
            halves = [
                {"requests": 8, "seconds": half.seconds - 3.0, "output_tok_s": half.value},
                {"requests": 16, "seconds": whole.seconds - 3.0, "output_tok_s": whole.value},
            ]
            found.append({"start_s": 1.0, "warmup_s": 2.0, "halves": halves})
        return found

    points: list[dict[str, Any]] = []
    for at, point in enumerate(on.tree.points()):
        crashed = point["slots"] == 4 and point.get("draft_length") == 8
        state = "crashed" if crashed else "complete"
        points.append({"point": point.as_json(), "state": state, "runs": [] if crashed else runs(point, 3 * at)})
    best = max(on.tree.points(), key=lambda point: on.log_rate[point])
    return {
        "schema": 1,
        "streams": 8,
        "output_tokens": 16,
        "axes": [
            {"name": a.name, "level": a.level, "options": list(a.options), "only_if": [list(c) for c in a.only_if]}
            for a in on.tree.axes
        ],
        "prior": [[axis, option, mean, sd] for (axis, option), (mean, sd) in on.prior.items()],
        "points": points,
        "top": [{"point": best.as_json(), "runs": runs(best, 999)}],
    }


@pytest.fixture
def document() -> dict[str, Any]:
    return recorded(surface(3, tree=SMALL))


def test_it_reads_the_recorded_tree(document: dict[str, Any]) -> None:
    grid = read_grid(document)
    assert grid.tree.points() == SMALL.points()
    assert grid.prior["weights", "Q8_0"] == (0.35, 0.15)
    assert len(grid.means) == len(SMALL.points()) - 3
    assert 0.04 < grid.noise_sd() < 0.12
    document["axes"][-1]["options"].remove(8)
    with pytest.raises(CaptureError, match="only_if"):
        read_grid(document)


def test_a_re_measured_point_has_the_mean_of_its_new_runs(document: dict[str, Any]) -> None:
    top = document["top"][0]
    grid = read_grid(document)
    mean = sum(run["halves"][-1]["output_tok_s"] for run in top["runs"]) / 3
    assert grid.means[Point.from_json(top["point"])] == pytest.approx(mean)
    assert grid.regret(grid.best) == 0.0
    assert grid.regret(None) == grid.regret(SMALL.default) > 0


def test_each_recorded_run_is_drawn_once_before_any_again(document: dict[str, Any]) -> None:
    replay = Replay(read_grid(document), seed=1)
    entry = document["points"][0]
    drawn = [replay.run(Ask(SMALL.default, 1.0)).value for _ in range(6)]
    assert set(drawn[:3]) == set(drawn[3:]) == {run["halves"][-1]["output_tok_s"] for run in entry["runs"]}


def test_half_a_run_reads_and_costs_the_first_half(document: dict[str, Any]) -> None:
    run = document["points"][0]["runs"][0]
    document["points"][0]["runs"] = [run]
    told = Replay(read_grid(document), seed=0).run(Ask(SMALL.default, 0.5))
    half = run["halves"][0]
    assert told == Told(SMALL.default, 0.5, "complete", half["output_tok_s"], 3.0 + half["seconds"])


def test_a_failed_point_fails_and_costs_the_usual_time(document: dict[str, Any]) -> None:
    point = next(Point.from_json(entry["point"]) for entry in document["points"] if entry["state"] == "crashed")
    told = Replay(read_grid(document), seed=0).run(Ask(point, 1.0))
    assert (told.state, told.value) == ("crashed", None)
    assert 3.0 < told.seconds < math.inf


def test_a_run_that_the_budget_cuts_off_does_not_count(document: dict[str, Any]) -> None:
    """In order the default comes first, so that is what a budget too short for more is left with."""
    grid = read_grid(document)
    played = play(grid, InOrder(Problem(grid.tree, grid.prior, 0)), 0)
    assert played.regrets[0] == grid.regret(SMALL.default)
    assert played.regrets[-1] <= played.regrets[0]
    assert played.end_regret < 0.1
    assert (played.runs, played.stopped) == (len(SMALL.points()), True)


def test_the_result_has_every_strategy_at_every_budget(document: dict[str, Any]) -> None:
    found = judged_grid(read_grid(document), seeds=5)
    names = [row["strategy"] for row in found["strategies"]]
    assert names == ["random", "grid", "halving", "tpe", "racing"]
    for row in found["strategies"]:
        assert [budget["share_of_a_pass"] for budget in row["budgets"]] == list(BUDGETS)
        for budget in row["budgets"]:
            low, high = budget["regret"]["ci95"]
            assert low <= budget["regret"]["value"] <= high
    racing = found["strategies"][-1]
    assert racing["stops_by_itself"]["share_of_seeds"] == 1.0
    assert len(table(found)) == 2 + 5
    assert found["tuned_on"]
