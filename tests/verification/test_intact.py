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
        (40, 17, "intact"),  # a few near ties more than the floor, and no room for many
        (45, 12, "inconclusive"),  # not significantly more near-tie flips, but there may be many more
        (30, 20, "inconclusive"),  # more hard flips than the floor, perhaps by chance
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


def floor_of(near_ties: int, near_flips: int, clear: int, hard_flips: int) -> Floors:
    return Floors(FLOORS.repeat, (Change.seen("ubatch", with_flips(near_ties, near_flips, clear, hard_flips)),))


def test_not_significantly_more_hard_flips_are_no_proof_of_none() -> None:
    found = judge_intact(with_flips(60, 10, 490, 4), floor_of(60, 10, 490, 1))
    assert found.hard_p is not None and found.hard_p > 0.05
    assert found.verdict == "inconclusive"
    assert "larger share of hard flips" in found.reason
    assert judge_intact(with_flips(60, 10, 490, 1), floor_of(60, 10, 490, 1)).verdict == "intact"


def test_not_significantly_more_near_tie_flips_are_no_proof_of_none() -> None:
    found = judge_intact(with_flips(25, 8, 490, 0), floor_of(25, 3, 490, 0))
    assert found.near_tie_p is not None and found.near_tie_p > 0.05
    assert found.verdict == "inconclusive"
    assert "may lie" in found.reason


def test_few_clear_positions_without_a_flip_show_little() -> None:
    found = judge_intact(with_flips(80, 10, 30, 0), floor_of(80, 20, 490, 1))
    assert found.verdict == "inconclusive"
    assert "share of hard flips may lie" in found.reason


def test_a_change_that_flips_much_more_is_rarely_called_intact() -> None:
    """400 changes at the edge of what is let pass, near ties flipping 0.2 more often than the floor: at most 5 %, and
    what 400 draws add by chance."""
    random = np.random.default_rng(13)
    passed = 0
    for _ in range(400):
        floors = floor_of(61, int(random.binomial(61, 0.3)), 451, 5)
        passed += judge_intact(with_flips(61, int(random.binomial(61, 0.5)), 451, 5), floors).verdict == "intact"
    assert passed / 400 <= 0.08


def test_without_floors_or_with_few_positions_nothing_is_claimed() -> None:
    assert judge_intact(with_flips(83, 1, 690, 0), None).verdict == "inconclusive"
    few = judge_intact(with_flips(6, 2, 60, 0), FLOORS)
    assert few.verdict == "inconclusive"
    assert "too few" in few.reason


def test_a_nan_is_not_intact() -> None:
    found = judge_intact(from_kld([0.0, np.nan], 2), FLOORS)
    assert found.verdict == "not_intact"
    json.dumps(found.as_json(), allow_nan=False)  # a study stores it


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
