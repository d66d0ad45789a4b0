"""Which doubt to tell first: what forbids a verdict, then what may have moved numbers, then what only explains them.

Enters the stored doubts; leaves them in that order, else as they were. A name of another version stands in the middle.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from paretoken.core.doubt import DOUBTS

# The numbers of the two sides may differ for a reason that is not the change.
_MOVES_NUMBERS = frozenset(
    {
        "host_contended",
        "drift",
        "not_steady",
        "not_interleaved",
        "failures_high",
        "output_length_not_met",
        "prompt_cache_suspected",
        "client_could_not_keep_schedule",
        "server_timing_inconsistent",
        "usage_missing",
    }
)
# The numbers stand as they are; the reader should know something about them.
_EXPLAINS = frozenset(
    {"baseline_already_quantised", "too_few_requests", "untested_engine", "no_done_marker", "invalid_utf8"}
)


def is_fatal(doubt: Mapping[str, Any]) -> bool:
    kind = DOUBTS.get(str(doubt.get("name")))
    return kind is not None and kind.fatal


def by_gravity(doubts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The gravest first."""
    return sorted(doubts, key=_rank)


def _rank(doubt: Mapping[str, Any]) -> int:
    name = str(doubt.get("name"))
    if is_fatal(doubt):
        return 0
    return 1 if name in _MOVES_NUMBERS else 3 if name in _EXPLAINS else 2
