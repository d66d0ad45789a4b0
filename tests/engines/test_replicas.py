"""Several engine processes on disjoint cores, as one thing that runs."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from paretoken.engines.exchange import exchange
from paretoken.engines.llamacpp import LlamaCpp, LlamaCppSettings
from paretoken.engines.replicas import Replicas, launch_candidate, launch_commands, split_cores
from paretoken.engines.script import ScriptedSettings
from paretoken.engines.scripted import Scripted
from paretoken.errors import EngineError, UsageError


def test_cores_are_split_into_disjoint_neighbours() -> None:
    assert split_cores(2, range(5)) == [(0, 1, 2), (3, 4)]
    assert split_cores(1, [3, 7]) == [(3, 7)]
    assert split_cores(2, [3, 7]) == [(3,), (7,)]


def test_more_replicas_than_cores_are_refused_with_both_numbers() -> None:
    with pytest.raises(UsageError, match="3 replicas need 3 cores of their own, and there are 2"):
        split_cores(3, [0, 1])


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2 if sys.platform == "linux" else True, reason="needs two cores")
def test_two_replicas_answer_on_cores_of_their_own_and_stop_together(tmp_path: Path) -> None:
    with launch_candidate(Scripted(), None, ScriptedSettings(), 2, log_dir=tmp_path) as running:
        assert isinstance(running, Replicas)
        one, two = running.parts
        assert one.base_url != two.base_url and one.pid != two.pid
        assert one.pid is not None and two.pid is not None
        assert not os.sched_getaffinity(one.pid) & os.sched_getaffinity(two.pid)
        body: dict[str, Any] = {"model": "scripted", "messages": [], "max_tokens": 1}
        for part in running.parts:
            status, _, data = exchange(f"{part.base_url}/v1/chat/completions", body, timeout_s=5)
            assert status == 200 and json.loads(data)["choices"]
        assert running.alive() and running.load_s is not None
    assert not running.alive()
    for pid in (one.pid, two.pid):
        assert not Path(f"/proc/{pid}").exists()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2 if sys.platform == "linux" else True, reason="needs two cores")
def test_a_replica_that_does_not_start_leaves_none_running() -> None:
    with pytest.raises(EngineError):
        launch_candidate(Scripted(), None, ScriptedSettings.from_json({"ready_after_s": 60}), 2, timeout_s=0.5)


def test_the_commands_for_people_pin_each_process_to_its_cores_and_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1}, raising=False)
    engine, settings = LlamaCpp(), LlamaCppSettings(threads=1)
    (alone,) = launch_commands(engine, settings, "m.gguf")
    assert alone[0] == "llama-server" and "--port" not in alone
    first, second = launch_commands(engine, settings, "m.gguf", 2)
    assert (first[:4], second[:4]) == (
        ["taskset", "--cpu-list", "0", "llama-server"],
        ["taskset", "--cpu-list", "1", "llama-server"],
    )
    assert [words[words.index("--port") + 1] for words in (first, second)] == ["8080", "8081"]
    assert launch_commands(Scripted(), ScriptedSettings(), None, 2) == []
