"""How long a study may take: minutes, or a number of trials.

A given budget is kept: no step begins that is not expected to end inside it. Without one a study takes what its finals
need, at least DEFAULT_S, and says so.
"""

import re
from dataclasses import dataclass
from typing import Any

from paretoken.errors import UsageError
from paretoken.units import parse_duration_s, show_duration

DEFAULT_S = 480.0
MOST_TRIALS = 100_000
_TRIALS = re.compile(r"\s*(\d+)\s*(?:t|trials?)\s*", flags=re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Budget:
    """`seconds` None: as long as it takes; `trials` None: as many as fit. `given` False: a habit, not a promise."""

    seconds: float | None = DEFAULT_S
    trials: int | None = None
    given: bool = False

    def as_json(self) -> dict[str, Any]:
        return {"budget_s": self.seconds, "budget_trials": self.trials, "budget_given": self.given}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Budget":
        """The budget of a study's stored parameters; those of before had minutes only."""
        return cls(stored["budget_s"], stored.get("budget_trials"), bool(stored.get("budget_given")))

    @property
    def words(self) -> str:
        if self.trials is not None:
            return f"{self.trials} trial{'s' if self.trials > 1 else ''}"
        return "no limit" if self.seconds is None else show_duration(self.seconds)


def parse_budget(text: str | None) -> Budget:
    """'8m' → eight minutes; '12 trials' (or '12t') → twelve. Raises UsageError."""
    if text is None:
        return Budget()
    match = _TRIALS.fullmatch(text)
    if match is not None:
        trials = int(match[1])
        if not 1 <= trials <= MOST_TRIALS:
            raise UsageError(f"a budget of {trials} trials cannot be; give 1 to {MOST_TRIALS}")
        return Budget(None, trials, given=True)
    try:
        return Budget(parse_duration_s(text), None, given=True)
    except UsageError as error:
        raise UsageError(f"{error}; or a number of trials, as in '12 trials'") from error
