"""Figures and verdicts as clauses: by how much, instead of what, at which cost.

A word of comparison follows the stored verdict; only `size_and_speed` reads two plain numbers, and says both.
"""

from paretoken.report.figures import Figure, Show, shared_unit, show_interval, show_ms, show_times, show_value
from paretoken.report.reading import Verdict

_SAME_SIZE = 0.01
_SAME_SPEED = 0.03  # decision rule 4's margin, for where no interval decides


def size_and_speed(speedup: float, size_ratio: float) -> str:
    """What a change of the model did to both. They are independent: smaller is not faster by itself."""
    size = "smaller" if size_ratio < 1 - _SAME_SIZE else "larger" if size_ratio > 1 + _SAME_SIZE else "same size"
    speed = "faster" if speedup > 1 + _SAME_SPEED else "slower" if speedup < 1 - _SAME_SPEED else "as fast"
    both_good_or_both_bad = (size == "smaller") == (speed != "slower")
    join = ", " if size == "same size" else " and " if both_good_or_both_bad else " but "
    return f"{size}{join}{speed}: {show_times(size_ratio)} the size, {show_times(speedup)} the tokens a second"


def instead_of(now: Figure, before: Figure, show: Show = show_ms) -> str:
    """'71.3 instead of 44.1 tok/s'."""
    return shared_unit(show_value(now, show), " instead of ", show_value(before, show))


def cost_words(ratio: Figure) -> str:
    """A token costs machine time, the inverse of the rate: '38 % cheaper (34 to 41 %)'."""
    change = ratio.inverted()
    if change.value is None:
        return "its cost is not known"
    word, sign = ("cheaper", -1) if change.value < 1 else ("dearer", 1)
    ends = sorted(sign * (end - 1) * 100 for end in (change.low, change.high) if end is not None)
    span = f" ({ends[0]:.0f} to {ends[1]:.0f} %)" if len(ends) == 2 else ""
    return f"{sign * (change.value - 1) * 100:.0f} % {word}{span}"


def speed_word(verdict: Verdict) -> str:
    known = {"better": "faster", "worse": "slower", "same": "as fast", "invalid": "no verdict"}
    return known.get(verdict.word, "not settled")


def latency_word(verdict: Verdict) -> str:
    known = {"better": "sooner", "worse": "later", "same": "as soon", "invalid": "no verdict"}
    return known.get(verdict.word, "not settled")


def ratio_words(verdict: Verdict) -> str:
    """'1.61× (95 %: 1.52 to 1.70×)', or why there is no ratio."""
    if not verdict.ratio.known:
        return verdict.reason or "not known"
    span = show_interval(verdict.ratio, show_times) or "no interval"
    return f"{show_value(verdict.ratio, show_times)} (95 %: {span})"


def settle_words(verdict: Verdict) -> list[str]:
    """What an unknown verdict needs, as clauses (none for others)."""
    more = verdict.blocks_to_settle
    if verdict.word != "unknown" or not more:
        return []
    return [f"{more} more block{'' if more == 1 else 's'} needed"]
