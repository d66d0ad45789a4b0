"""The closed loop: it knows its slots, and that only the run can tell when one becomes free."""

import pytest

from paretoken.arrivals import ARRIVALS
from paretoken.arrivals.closed import Closed
from paretoken.arrivals.poisson import Poisson
from paretoken.errors import UsageError


def test_due_moments_are_left_to_the_run() -> None:
    assert Closed(4).concurrency == 4
    assert [Closed(4).due_s(index) for index in (0, 1, 99)] == [None, None, None]


@pytest.mark.parametrize("streams", [0, -3])
def test_a_closed_loop_needs_a_stream(streams: int) -> None:
    with pytest.raises(UsageError, match="at least one stream"):
        Closed(streams)


def test_the_registry_knows_both() -> None:
    assert ARRIVALS.names() == ["closed", "poisson"]
    assert ARRIVALS.load("closed") is Closed
    assert ARRIVALS.load("poisson") is Poisson
