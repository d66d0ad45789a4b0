"""This machine's limits, measured once and kept; and what share of them a candidate used.

Kept in the cache by the machine's fingerprint: the limits are a property of the machine, not of a study. A share that
cannot be had is None with its reason: a model whose sizes are unknown has none.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from paretoken.core.candidate import Candidate
from paretoken.core.record import Record
from paretoken.errors import InvalidMeasurement, ModelError, ParetokenError
from paretoken.machine.limits import METHOD, Limits, limits
from paretoken.metrics.utilisation import attention_flops_per_token, decode_step_bound_s, decode_step_bytes, mbu, mfu
from paretoken.models.cache import cache_dir, made_dir, put_json, read_json
from paretoken.models.dimensions import Dimensions, dimensions
from paretoken.models.gguf_header import read_header
from paretoken.units import MS_PER_S

_NUMBERS = ("read_gb_s", "read_gb_s_one_thread", "flop_s")


def machine_limits(machine: dict[str, Any], cache: Path | None = None) -> Limits:
    """Measured now (about four seconds, alone), or the values kept for this machine. Raises ParetokenError when they
    can't be measured; that they can't be kept is no failure."""
    folder = cache or cache_dir()
    name = f"limits-{METHOD}-{machine['fingerprint'][:16]}.json"
    kept = _kept(read_json(folder / name))
    if kept is not None:
        return kept
    try:
        found = limits()
    except (OSError, MemoryError, RuntimeError, KeyError) as error:  # no memory, no thread, another numpy
        raise ParetokenError(
            f"this machine's limits could not be measured: {error or type(error).__name__}; try paretoken machine"
        ) from error
    try:
        put_json(made_dir(folder) / name, found.as_json())
    except (OSError, ModelError):
        pass  # a cache that can't be written costs the next run four seconds, not this one its result
    return found


def _kept(value: dict[str, Any] | None) -> Limits | None:
    """None: never measured here, or damaged."""
    if value is None:
        return None
    try:
        found = Limits(**value)
    except TypeError:
        return None
    numbers = [getattr(found, name) for name in _NUMBERS]
    return found if all(isinstance(number, int | float) and number > 0 for number in numbers) else None


def utilisation(
    candidate: Candidate,
    *,
    found: Limits,
    streams: float,
    context_tokens: float,
    step_s: float,
    tok_s: float,
    input_tok_s: float | None = None,
    prompt_tokens: float = 0.0,
) -> dict[str, Any]:
    """MBU of decoding, MFU of decoding and of prefill apart, and the bound that bandwidth sets to a step.

    `streams` are those decoded together, `step_s` the time between two tokens of one of them, `tok_s` all output
    tokens a second; `input_tok_s` the prompt tokens computed a second, of prompts of `prompt_tokens` in the mean. Both
    rates are over the same time, so the two MFUs add up. A share above 1 is not shown: its reason is.
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

    def computed(rate: float, context: float) -> float:
        attention = _attention(sizes, context)
        return mfu(
            active_parameters=sizes.active_parameters,
            tok_s=rate,
            flop_s=found.flop_s,
            attention_flops_per_token=attention,
        )

    put("mbu", lambda: mbu(step_bytes=step_bytes, step_s=step_s, read_bytes_per_s=found.read_bytes_per_s))
    put("mfu", lambda: computed(tok_s, context_tokens))
    if input_tok_s is None:
        result["mfu_prefill"] = None
        result["reasons"]["mfu_prefill"] = "how many prompt tokens were computed a second is not known"
    else:
        # A prompt's tokens attend to those before them: half of it in the mean.
        put("mfu_prefill", lambda: computed(input_tok_s, prompt_tokens / 2))
    return result


def computed_input_tok_s(
    records: Sequence[Record], *, output_tok_s: float, total_tok_s: float | None, prompt_cache: bool
) -> float | None:
    """Prompt tokens that the engine computed a second: all that came in, less those that its cache held, as it counts
    them. None where it does not count them and may have had some."""
    if total_tok_s is None:
        return None
    came_in = max(0.0, total_tok_s - output_tok_s)
    counted = [(r.reply.prompt_tokens, r.reply.cached_tokens) for r in records if r.reply.prompt_tokens]
    if not counted or not prompt_cache:
        return came_in
    computed = [prompt - cached for prompt, cached in counted if cached is not None]
    if len(computed) < len(counted):
        return None
    return came_in * max(0.0, sum(computed) / sum(prompt for prompt, _ in counted))


def _attention(sizes: Dimensions, context_tokens: float) -> float:
    """0 where the header does not give the sizes: then the share is a little too low, never too high."""
    if sizes.layers is None or sizes.d_model is None:
        return 0.0
    return attention_flops_per_token(layers=sizes.layers, width=sizes.d_model, context_tokens=context_tokens)
