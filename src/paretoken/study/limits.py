"""This machine's limits, measured once and kept; and what share of them a candidate used.

Kept in the cache by the machine's fingerprint: the limits are a property of the machine, not of a study. Raises
nothing when a share cannot be had: a model whose sizes are unknown has none.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paretoken.core.candidate import Candidate
from paretoken.errors import InvalidMeasurement
from paretoken.machine.limits import Limits, limits
from paretoken.metrics.utilisation import decode_step_bound_s, decode_step_bytes, mbu, mfu
from paretoken.models.cache import cache_dir, made_dir
from paretoken.models.dimensions import dimensions
from paretoken.models.gguf_header import read_header
from paretoken.units import MS_PER_S


def machine_limits(machine: dict[str, Any], cache: Path | None = None) -> Limits:
    """Measured now (about four seconds, alone), or the values kept for this machine."""
    path = made_dir(cache or cache_dir()) / f"limits-{machine['fingerprint'][:16]}.json"
    try:
        return Limits(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        pass  # never measured here, or written by another version: measure
    found = limits()
    path.write_text(json.dumps(found.as_json()))
    return found


def utilisation(
    candidate: Candidate, *, found: Limits, streams: float, context_tokens: float, step_s: float, tok_s: float
) -> dict[str, Any]:
    """MBU and MFU of decoding, and the bound that bandwidth sets to a step.

    `streams` are those decoded together, `step_s` the time between two tokens of one of them, `tok_s` all output
    tokens a second. A share above 1 is not shown: its reason is.
    """
    sizes = dimensions(read_header(Path(candidate.model.path)))
    kv = sizes.kv_bytes_per_token(str(candidate.engine_settings.get("kv_type", "f16"))) or 0
    step_bytes = decode_step_bytes(
        weight_bytes=sizes.weight_bytes_per_step, kv_bytes_per_token=kv, context_tokens=context_tokens, streams=streams
    )
    bound_s = decode_step_bound_s(step_bytes, found.read_bytes_per_s)
    result: dict[str, Any] = {"step_bytes": step_bytes, "step_bound_ms": bound_s * MS_PER_S, "reasons": {}}

    def put(name: str, share: Callable[[], float]) -> None:
        try:
            result[name] = share()
        except InvalidMeasurement as error:
            result[name] = None
            result["reasons"][name] = str(error)

    put("mbu", lambda: mbu(step_bytes=step_bytes, step_s=step_s, read_bytes_per_s=found.read_bytes_per_s))
    put("mfu", lambda: mfu(active_parameters=sizes.active_parameters, tok_s=tok_s, flop_s=found.flop_s))
    return result
