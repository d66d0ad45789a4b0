"""What servers say of their own time, held against what the client saw.

The names are the servers' own: llama.cpp's `timings` (milliseconds) and Ollama's durations (nanoseconds). A server that
claims to have worked longer than the client waited measures something else than it says.
"""

from paretoken.core.record import Record
from paretoken.units import MS_PER_S, NS_PER_S

SLACK_S = 0.005
SLACK_SHARE = 0.02
LOAD_S = 0.1  # an Ollama answer always names a load duration; loading takes longer than this


def claimed_s(record: Record) -> float | None:
    """The server's own time for prompt and answer together; None when it does not say."""
    timings = record.reply.server_timings
    if "prompt_ms" in timings and "predicted_ms" in timings:
        return (timings["prompt_ms"] + timings["predicted_ms"]) / MS_PER_S
    if "total_duration" in timings:
        return timings["total_duration"] / NS_PER_S
    return None


def prefill_s(record: Record) -> float | None:
    """The server's own time for the prompt; None when it does not say."""
    timings = record.reply.server_timings
    if "prompt_ms" in timings:
        return timings["prompt_ms"] / MS_PER_S
    return timings["prompt_eval_duration"] / NS_PER_S if "prompt_eval_duration" in timings else None


def contradicts(record: Record) -> bool:
    claimed, waited = claimed_s(record), record.e2e_s
    if claimed is None or waited is None:
        return False
    return claimed > waited * (1 + SLACK_SHARE) + SLACK_S


def loaded_model(record: Record) -> bool:
    return record.reply.server_timings.get("load_duration", 0.0) / NS_PER_S > LOAD_S
