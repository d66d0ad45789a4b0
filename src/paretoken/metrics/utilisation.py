"""How far the physical limit still is: the share of memory bandwidth that decode uses, the share of FLOP/s of prefill.

Enter: a model's dimensions as plain numbers, a step time or a token rate, and the machine's measured limits. Leave:
shares of 1. More than all of a limit cannot be: then a number that went in is wrong, and that is raised, not printed.
"""

from paretoken.errors import InvalidMeasurement
from paretoken.units import show_percent


def decode_step_bytes(
    *, weight_bytes: float, kv_bytes_per_token: float, context_tokens: float, streams: float
) -> float:
    """Bytes that one decode step reads: the weights once, and the cache of every stream in the batch. For a mixture of
    experts `weight_bytes` are those of the experts that the batch touches."""
    return weight_bytes + streams * context_tokens * kv_bytes_per_token


def decode_step_bound_s(step_bytes: float, read_bytes_per_s: float) -> float:
    """No decode step can be shorter than reading its bytes once."""
    return step_bytes / read_bytes_per_s


def mbu(*, step_bytes: float, step_s: float, read_bytes_per_s: float) -> float:
    """Bytes read a step / step time / measured bandwidth. Steps, not tokens: a batched step makes a token for each
    stream, a speculative one makes several for one."""
    return _share("memory bandwidth", step_bytes / step_s / read_bytes_per_s)


def attention_flops_per_token(*, layers: int, width: int, context_tokens: float) -> float:
    """Scores and values over the context: 2·2·layers·width·context; the width is heads · head_dim, in most models
    d_model."""
    return 4 * layers * width * context_tokens


def mfu(*, active_parameters: float, tok_s: float, flop_s: float, attention_flops_per_token: float = 0.0) -> float:
    """(2·active parameters + attention)·tokens/s / measured FLOP/s; prefill and decode are asked apart."""
    return _share("FLOP/s", (2 * active_parameters + attention_flops_per_token) * tok_s / flop_s)


def _share(of: str, share: float) -> float:
    if not 0 <= share <= 1:
        raise InvalidMeasurement(
            f"{show_percent(share)} of the measured {of} cannot be; check the model's dimensions, the step time, and "
            "the machine's limits (paretoken machine) on a quiet machine"
        )
    return share
