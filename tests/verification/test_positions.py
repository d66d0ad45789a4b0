import math

import numpy as np

from paretoken.verification.positions import Positions

from .found import from_kld, with_flips


def event(document: int, n: int) -> dict[str, object]:
    columns = ("kld", "log_ratio", "delta_p", "base_nll", "gap", "base_top", "top")
    return {"document": document, **{name: [document] * n for name in columns}}


def test_events_come_in_the_order_of_their_documents() -> None:
    found = Positions.from_events([event(2, 3), event(0, 2)])
    assert found.document.tolist() == [0, 0, 2, 2, 2]
    assert found.documents == 2
    assert found.kld.dtype == np.float64
    assert len(Positions.from_events([])) == 0


def test_flips_are_split_by_the_baselines_gap() -> None:
    found = with_flips(10, 3, 90, 2)
    assert (found.near_ties, found.near_tie_flips, found.hard_flips) == (10, 3, 2)


def test_the_first_position_that_is_no_number() -> None:
    assert from_kld([0.0, 1.0], 2).first_broken is None
    assert from_kld([0.0, math.nan, math.inf], 3).first_broken == 1
