"""Parallelism by replicas: several engine processes on disjoint cores, the load spread over them.

Enters a candidate with its threads and slots; leaves one whose replicas share them. A replica's threads wait for
fewer others at the end of every matrix, and its weights are read once a replica: which of the two counts is measured.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from paretoken.core.candidate import SERVICE_LEVEL, Candidate
from paretoken.machine.quota import cpu_quota
from paretoken.techniques.base import Situation, switched_on


class Replicas:
    name = "replicas"
    level = SERVICE_LEVEL
    needs = "two cores and streams or more; memory for the weights of each; a client that knows all addresses"
    risk = "weights are read once a replica and not once a machine; each replica batches fewer requests"
    engines: tuple[str, ...] = ("llamacpp",)

    def options(self, situation: Situation) -> list[dict[str, Any]]:
        if situation.engine not in self.engines:
            return []
        most = min(situation.threads, situation.streams)
        return [{"replicas": count} for count in (2, 4, 8) if count <= most]

    def words(self, settings: Mapping[str, Any]) -> str:
        return f"{settings['replicas']} replicas"

    def apply(self, candidate: Candidate, settings: Mapping[str, Any], cache: Path | None = None) -> Candidate:
        count = settings["replicas"]
        given = candidate.engine_settings
        # `slots` and `threads` are the whole candidate's; what is left over is dropped rather than shared.
        threads = max(1, (given.get("threads") or cpu_quota()) // count)
        own = {"slots": max(1, -(-given.get("slots", 1) // count)), "threads": threads, "batch_threads": threads}
        return replace(switched_on(candidate, self, settings, **own), replicas=count)
