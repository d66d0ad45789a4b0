"""A change of service settings, looked at in logits: slots, threads, ubatch, flash attention.

Enter one model, its settings before and after the change; leaves an `Intact` (decision rule 6). What changes in the
server and not in the model's computations (speculation, samplers, prompt cache, replicas) shows in texts only: see
check_texts.py.
"""

from dataclasses import replace

from paretoken.core.candidate import Model
from paretoken.errors import UsageError
from paretoken.machine.quota import cpu_quota
from paretoken.verification.floors import Floors, measure_floors
from paretoken.verification.how import F16, SERVICE, How
from paretoken.verification.intact import SLOT_POSITIONS, Intact, judge_intact
from paretoken.verification.logits import OnProgress, Plan, Service, read_logits
from paretoken.verification.text import Text, bundled

_SHORTEST_WINDOW, _LONGEST_WINDOW = 16, 64
# Prompts are as long as a chat's; to tell two ubatches apart they are twice the smaller one.
_PROMPT_TOKENS = 128
_MOST_PROMPT_TOKENS = 2048


def check_service(
    model: Model,
    before: How,
    after: How,
    slots_before: int = 1,
    slots_after: int = 1,
    positions: int = SLOT_POSITIONS,
    *,
    floors: Floors | None = None,
    text: Text | None = None,
    on_progress: OnProgress | None = None,
) -> Intact:
    """Teacher-forced under both settings, at about `positions` positions. Where more than the slots differs, prompts
    are read at once, and half of the positions are theirs, or all where only prefill can differ.

    Floors that are not given are measured, at this KV type, when they are needed: the very same numbers need none.
    Raises UsageError for another KV type, and what logits.read_logits raises.
    """
    if before.kv_type != after.kv_type:
        raise UsageError(
            f"a KV cache in {after.kv_type} instead of {before.kv_type} changes what comes out, so it is not a service "
            f"setting; give both the same kv_type, and verify it as a change of the model"
        )
    same = (before.threads, before.flash_attention) == (after.threads, after.flash_attention)
    prefill = not same or (before.prefill_threads, before.ubatch) != (after.prefill_threads, after.ubatch)
    together = max(slots_before, slots_after)
    stepwise = not same or not prefill or together > 1
    each = max(1, positions // (prefill + stepwise))
    window = min(_LONGEST_WINDOW, max(_SHORTEST_WINDOW, each // together))
    # Whole rounds: each takes as many windows as there are slots.
    rounds = max(1, -(-each // (window * together)))
    found = read_logits(
        Plan(
            model,
            text=replace(bundled() if text is None else text, window_positions=window),
            service=Service(
                before,
                after,
                slots_before,
                slots_after,
                prompt_tokens=_prompt_tokens(before, after) if prefill else 0,
                prompt_positions=each if prefill else 0,
                windows=rounds * together if stepwise else 0,
            ),
        ),
        on_progress=on_progress,
    ).positions[SERVICE]
    if floors is None and not found.bit_equal:
        floors = measure_floors(model, positions=len(found), kv_type=before.kv_type, on_progress=on_progress)
    return judge_intact(found, floors, _change(before, after, slots_before, slots_after))


def check_slots(
    model: Model,
    slots: int,
    positions: int = SLOT_POSITIONS,
    *,
    kv_type: str = F16,
    floors: Floors | None = None,
    text: Text | None = None,
    on_progress: OnProgress | None = None,
) -> Intact:
    """Sequences decoded side by side, as `slots` slots do, against each of them alone."""
    how = How(cpu_quota(), kv_type=kv_type)
    return check_service(model, how, how, 1, slots, positions, floors=floors, text=text, on_progress=on_progress)


def _prompt_tokens(before: How, after: How) -> int:
    if before.ubatch == after.ubatch:
        return _PROMPT_TOKENS
    return max(_PROMPT_TOKENS, min(_MOST_PROMPT_TOKENS, 2 * min(before.ubatch, after.ubatch)))


def _change(before: How, after: How, slots_before: int, slots_after: int) -> str:
    """What changed, in a few words."""
    parts = [
        f"{name} {old} to {new}"
        for name, old, new in (
            ("threads", before.threads, after.threads),
            ("batch threads", before.prefill_threads, after.prefill_threads),
            ("ubatch", before.ubatch, after.ubatch),
            ("flash attention", before.flash_attention, after.flash_attention),
        )
        if old != new
    ]
    if slots_before != slots_after:
        parts.append(f"{slots_after} slots" if slots_before == 1 else f"{slots_before} to {slots_after} slots")
    return ", ".join(parts) or "nothing"
