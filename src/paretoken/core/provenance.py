"""Where a result comes from: enough to repeat it, nothing secret (no key, no home path)."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Provenance:
    tool_version: str
    started_at: str  # UTC, ISO 8601
    seed: int
    hardware: dict[str, Any]  # machine/describe.py's JSON
    engine: str
    engine_version: str | None
    engine_args: dict[str, Any]
    model: str
    load_mode: str
    warmup: int
    prompt_cache_policy: str
    token_count_source: str = "server usage"
    clock: str = "user"  # kernel | user: where receive stamps come from
    extra: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "tool_version": self.tool_version,
            "started_at": self.started_at,
            "seed": self.seed,
            "hardware": self.hardware,
            "threads": self.engine_args.get("threads"),
            "engine": self.engine,
            "engine_version": self.engine_version,
            "engine_args": self.engine_args,
            "model": self.model,
            "load_mode": self.load_mode,
            "warmup": self.warmup,
            "prompt_cache_policy": self.prompt_cache_policy,
            "token_count_source": self.token_count_source,
            "percentile_method": "linear (type 7)",
            "clock": self.clock,
            **self.extra,
        }
