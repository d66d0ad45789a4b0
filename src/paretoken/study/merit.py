"""How good a screening run was, as one number of which more is better: what a search is told.

Enters the records and figures of one run and the objective. Short runs have no steady window, so the rate is that of
the whole run: all tokens that came, over the time from the first due request to the last end. A run that exceeds the
SLO is worth less by the square of how far: the search is drawn inside it. Finals decide by the full definitions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from paretoken.core.objective import Objective
from paretoken.core.record import Record
from paretoken.metrics.goodput import good
from paretoken.metrics.slo import overrun, per_request

MOST_OVERRUN = 100.0
NONE_GOOD = 1e-3  # of a request a second: so that a run without one good request still has an order


def merit(records: Sequence[Record], metrics: Mapping[str, Any], objective: Objective) -> float | None:
    """None where nothing was answered."""
    ok = [record for record in records if not record.warmup and record.outcome == "ok"]
    ends = [record.reply.ended_at for record in ok if record.reply.ended_at is not None]
    if not ends:
        return None
    seconds = max(ends) - min(record.due_at for record in records if not record.warmup)
    worth = _worth(ok, seconds, objective)
    if worth is None:
        return None
    # `not <`: what was not measured counts as the most.
    over = overrun(objective.slo, metrics)
    return worth / max(1.0, over if over < MOST_OVERRUN else MOST_OVERRUN) ** 2


def _worth(ok: Sequence[Record], seconds: float, objective: Objective) -> float | None:
    if objective.goal == "latency":
        waits = sorted(record.e2e_s for record in ok if record.e2e_s is not None)
        return 1 / waits[len(waits) // 2] if waits and waits[len(waits) // 2] > 0 else None
    if seconds <= 0:
        return None
    limits = per_request(objective.slo)
    if objective.goal == "goodput" and limits is not None:
        return max(len(good(ok, limits)) / seconds, NONE_GOOD)
    tokens = sum(record.reply.output_tokens or 0 for record in ok)
    return tokens / seconds if tokens else None
