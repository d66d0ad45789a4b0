"""What an engine is to the rest of the house: settings, a way to launch it, and a thing that runs.

Enters a model file and validated settings; leaves a `Running`, an address that has answered a real completion. Knows
nothing of load, records or techniques. A new engine implements `Engine` and inherits conformance.EngineConformance.
"""

import difflib
import ipaddress
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

from paretoken.errors import UsageError
from paretoken.wire.http1 import bearer

START_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Settings:
    """Base of an engine's settings: a frozen dataclass whose `__post_init__` raises UsageError for a bad value."""

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """Raises UsageError for a name that is not a setting, naming the nearest that is."""
        known = [f.name for f in fields(cls)]
        for name in given:
            if name not in known:
                near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.4)
                hint = f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(known)}"
                engine = cls.__name__.removesuffix("Settings").lower()
                raise UsageError(f"'{name}' is not a setting of {engine}; {hint}")
        return cls(**given)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def whole(name: str, value: object, low: int, high: int) -> None:
    """Raises UsageError unless `value` is a whole number in low..high."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise UsageError(f"{name} is {value!r}; give a whole number from {low} to {high}")


def seconds(name: str, value: object) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 86_400:
        raise UsageError(f"{name} is {value!r}; give seconds from 0 to a day")


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{name} is {value!r}; give one of {', '.join(allowed)}")


@dataclass(frozen=True)
class Listen:
    """Where an engine shall listen: an IP address or localhost. Port 0 lets the engine choose. The key travels in the
    environment only. Raises UsageError for an address that others can reach and no key."""

    host: str = "127.0.0.1"
    port: int = 0
    api_key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        whole("port", self.port, 0, 65535)
        if not self.loopback and not self.api_key:
            raise UsageError(
                f"listening on {self.host} lets other machines in; that needs a key: put one into the environment and "
                f"name its variable with --api-key-env"
            )
        bearer(self.api_key)  # a key that no client could send is refused before anything starts

    @property
    def loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError as error:
            raise UsageError(f"'{self.host}' is not an IP address to listen on; give for example 127.0.0.1") from error


LOCAL = Listen()


@runtime_checkable
class Running(Protocol):
    """An endpoint that has answered. A context manager: leaving it stops what we started."""

    @property
    def base_url(self) -> str: ...  # http://127.0.0.1:41231

    @property
    def pid(self) -> int | None: ...  # the engine's process; None when somebody else runs it

    @property
    def pgid(self) -> int | None: ...  # its process group

    @property
    def parts(self) -> "tuple[Running, ...]": ...  # the endpoints that it consists of; itself where it is one

    @property
    def load_s(self) -> float | None: ...  # from launch to the first real completion

    @property
    def model_name(self) -> str: ...  # as requests must name it

    @property
    def protocol(self) -> str: ...  # a name in wire.PROTOCOLS

    @property
    def engine_args(self) -> Mapping[str, Any]: ...  # the settings as run: no None that the engine filled in

    def alive(self) -> bool: ...

    def check(self, within_s: float = 0.0) -> None:
        """Raises EngineError (how it ended, last log lines) when the engine ended without being told to."""

    def log_tail(self) -> str:
        """The last log lines, bounded; "" when there is no log of ours."""

    def stop(self) -> None:
        """Afterwards the port is free and no process is left. A second call does nothing."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Engine(Protocol):
    """An adapter. `name` is its name in ENGINES, `settings_type` a subclass of Settings."""

    name: str
    settings_type: type[Settings]

    def launch(
        self,
        model_path: str | None,
        settings: Settings,
        *,
        listen: Listen = LOCAL,
        log_dir: Path | None = None,
        timeout_s: float = START_TIMEOUT_S,
        cores: tuple[int, ...] | None = None,
    ) -> Running:
        """`cores`: the only ones that its processes may run on. Raises EngineError when it does not become ready in
        time, dies, or is not what it should be."""

    def version(self) -> dict[str, str | None]:
        """{"wheel": …, "library_sha256": …}: what makes two engines the same engine."""

    def missing(self) -> str | None:
        """What must be installed before `launch` can work; None when nothing is missing."""

    def request_extra(self, settings: Settings) -> dict[str, Any]:
        """What these settings add to every request body."""

    def launch_command(self, settings: Settings, model_path: str | None, listen: Listen = LOCAL) -> list[str]:
        """An equivalent command for people; never run by us. Empty when there is none. It never holds the key."""
