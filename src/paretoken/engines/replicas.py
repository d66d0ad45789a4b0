"""Parallelism by replicas: several processes of one engine, each on cores of its own, as one thing that runs.

Enters an adapter, a model, the settings of one replica and how many there are; leaves a `Replicas`, whose `parts` are
the endpoints that a client spreads its requests over. There is no proxy of ours between them and the client. Knows
nothing of load.
"""

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from paretoken.engines.base import LOCAL, START_TIMEOUT_S, Engine, Listen, Running, Settings
from paretoken.errors import UsageError

FIRST_PORT = 8080  # in commands for people, who have to know the others too


def split_cores(count: int, cores: Sequence[int] | None = None) -> list[tuple[int, ...]]:
    """The cores that we may use (by default the affinity's) in `count` disjoint groups, sizes one apart at most; whole
    neighbours stay together, since they share caches. Raises UsageError where there are fewer cores than groups."""
    ours = sorted(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1))
    given = ours if cores is None else list(cores)
    if count > len(given):
        raise UsageError(f"{count} replicas need {count} cores of their own, and there are {len(given)}; use fewer")
    small, larger = divmod(len(given), count)
    ends = [0]
    for group in range(count):
        ends.append(ends[-1] + small + (group < larger))
    return [tuple(given[a:b]) for a, b in pairwise(ends)]


class Replicas:
    """Several endpoints of one engine that we started; implements base.Running. What is asked of one address goes to
    the first."""

    def __init__(self, parts: Sequence[Running]) -> None:
        self.parts = tuple(parts)
        first = parts[0]
        self.base_url, self.model_name, self.protocol = first.base_url, first.model_name, first.protocol
        self.engine_args: Mapping[str, Any] = first.engine_args

    @property
    def pid(self) -> int | None:
        return self.parts[0].pid

    @property
    def pgid(self) -> int | None:
        return self.parts[0].pgid

    @property
    def load_s(self) -> float | None:
        """They start one after another, so that each one's start is its own; this is the sum."""
        times = [part.load_s for part in self.parts]
        return None if any(time is None for time in times) else sum(time or 0.0 for time in times)

    def alive(self) -> bool:
        return all(part.alive() for part in self.parts)

    def check(self, within_s: float = 0.0) -> None:
        for part in self.parts:
            part.check(within_s)

    def log_tail(self) -> str:
        return "\n".join(tail for part in self.parts if (tail := part.log_tail()))

    def stop(self) -> None:
        with contextlib.ExitStack() as stops:
            for part in self.parts:
                stops.callback(part.stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def launch_commands(
    engine: Engine, settings: Settings, model_path: str | None, replicas: int = 1, listen: Listen = LOCAL
) -> list[list[str]]:
    """The same by the engine's own server, for people: a command line a replica, each on its cores and at its port;
    none where the engine has no server of its own. A client has to spread its requests over them."""
    if replicas == 1:
        return [command] if (command := engine.launch_command(settings, model_path, listen)) else []
    found = []
    for number, cores in enumerate(split_cores(replicas)):
        at = replace(listen, port=(listen.port or FIRST_PORT) + number)
        if command := engine.launch_command(settings, model_path, at):
            found.append(["taskset", "--cpu-list", ",".join(map(str, cores)), *command])
    return found


def launch_candidate(
    engine: Engine,
    model_path: str | None,
    settings: Settings,
    replicas: int = 1,
    *,
    listen: Listen = LOCAL,
    log_dir: Path | None = None,
    timeout_s: float = START_TIMEOUT_S,
) -> Running:
    """One engine, or `replicas` of it on disjoint cores. A given port is the first one's, the next ones follow it.
    Raises EngineError, UsageError; then nothing is left running."""
    if replicas == 1:
        return engine.launch(model_path, settings, listen=listen, log_dir=log_dir, timeout_s=timeout_s)
    groups = split_cores(replicas)
    with contextlib.ExitStack() as undo:
        parts = []
        for number, cores in enumerate(groups):
            own = replace(listen, port=listen.port + number) if listen.port else listen
            folder = None if log_dir is None else log_dir / f"replica-{number + 1}"
            part = engine.launch(model_path, settings, listen=own, log_dir=folder, timeout_s=timeout_s, cores=cores)
            undo.callback(part.stop)
            parts.append(part)
        undo.pop_all()
    return Replicas(parts)
