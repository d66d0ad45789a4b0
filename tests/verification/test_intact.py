import dataclasses
import json

import numpy as np
import pytest

from paretoken.verification.floors import Change, Floors
from paretoken.verification.intact import judge_intact

from .found import from_kld, with_flips

# As measured on the embedded model: rounding flips two near ties in five, and one clear position in forty.
FLOORS = Floors(
    repeat=Change.seen("repeat", with_flips(30, 0, 230, 0)),
    changes=(
        Change.seen("threads", with_flips(83, 0, 690, 0)),
        Change.seen("ubatch", with_flips(83, 35, 690, 17)),
        Change.seen("flash_attention", with_flips(83, 27, 690, 14)),
    ),
)
STRICT = Floors(FLOORS.repeat, (Change.seen("ubatch", with_flips(83, 10, 690, 0)),))


def test_the_very_same_numbers_need_no_floor() -> None:
    same = from_kld(np.zeros(500), 8)
    same = dataclasses.replace(same, log_ratio=np.zeros(500), delta_p=np.zeros(500))
    found = judge_intact(same, None, "8 slots")
    assert (found.verdict, found.change) == ("intact", "8 slots")


@pytest.mark.parametrize(
    ("near_flips", "hard_flips", "verdict"),
    [
        (30, 12, "intact"),
        (40, 20, "intact"),  # a little more than the floor, not significantly
        (34, 45, "not_intact"),
        (60, 10, "not_intact"),
        (0, 0, "intact"),
    ],
)
def test_flips_are_held_against_the_floor(near_flips: int, hard_flips: int, verdict: str) -> None:
    found = judge_intact(with_flips(83, near_flips, 690, hard_flips), FLOORS)
    assert found.verdict == verdict
    json.dumps(found.as_json(), allow_nan=False)


def test_one_hard_flip_is_too_many_where_rounding_makes_none() -> None:
    assert judge_intact(with_flips(83, 5, 690, 1), STRICT).verdict == "not_intact"
    assert judge_intact(with_flips(83, 5, 690, 0), STRICT).verdict == "intact"


def test_without_floors_or_with_few_positions_nothing_is_claimed() -> None:
    assert judge_intact(with_flips(83, 1, 690, 0), None).verdict == "inconclusive"
    few = judge_intact(with_flips(6, 2, 60, 1), FLOORS)
    assert few.verdict == "inconclusive"
    assert "too few" in few.reason


def test_a_nan_is_not_intact() -> None:
    assert judge_intact(from_kld([0.0, np.nan], 2), FLOORS).verdict == "not_intact"


def test_the_floor_is_the_worst_of_its_changes() -> None:
    assert FLOORS.most_near_tie_flips.name == FLOORS.most_hard_flips.name == "ubatch"
    assert FLOORS.numerics_nat == pytest.approx(max(change.upper_nat for change in FLOORS.changes))


def test_a_change_that_flips_like_rounding_is_rarely_accused() -> None:
    """400 changes that flip exactly as often as the floor's worst: two one-sided tests at 5 %."""
    random = np.random.default_rng(12)
    accused = 0
    for _ in range(400):
        floor = with_flips(83, int(random.binomial(83, 0.42)), 690, int(random.binomial(690, 0.025)))
        change = with_flips(83, int(random.binomial(83, 0.42)), 690, int(random.binomial(690, 0.025)))
        floors = Floors(FLOORS.repeat, (Change.seen("ubatch", floor),))
        accused += judge_intact(change, floors).verdict == "not_intact"
    assert accused / 400 <= 0.10
