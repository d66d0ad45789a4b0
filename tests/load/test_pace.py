"""Which request is due when, driven with numbers instead of a clock."""

from collections.abc import Callable

import pytest

from paretoken.load.pace import SLOT_OPENS_NS, Due, Pace
from paretoken.load.schedule import ClosedLoop, OpenLoop, Planned
from tests.load.driving import planned, schedule

S = 1_000_000_000


def pace(arrivals: ClosedLoop | OpenLoop, requests: int | tuple[Planned, ...], duration_s: float | None = None) -> Pace:
    return Pace(schedule(1, requests=requests, arrivals=arrivals, duration_s=duration_s), zero_ns=0)


def taken(paced: Pace, now_ns: int) -> list[Due]:
    found = []
    while (due := paced.take(now_ns)) is not None:
        found.append(due)
    return found


def test_a_closed_loop_starts_with_as_many_as_it_has_slots_a_moment_apart() -> None:
    paced = pace(ClosedLoop(3), 5)
    assert taken(paced, S) == [Due(0, 0), Due(SLOT_OPENS_NS, 1), Due(2 * SLOT_OPENS_NS, 2)]
    assert paced.next_due_ns is None
    paced.ended(1, 2 * S + 7, well=True)
    assert taken(paced, 3 * S) == [Due(2 * S + 7, 3)]
    paced.ended(0, 4 * S + 9, well=False)
    assert taken(paced, 4 * S + 8) == []
    assert taken(paced, 4 * S + 9) == [Due(4 * S + 9, 4)]


def test_think_time_counts_from_the_moment_the_slot_became_free() -> None:
    paced = pace(ClosedLoop(1), tuple(planned(number, think_s=0.3) for number in range(2)))
    assert paced.next_due_ns == 0.3 * S
    assert taken(paced, S) == [Due(300_000_000, 0)]
    paced.ended(0, 2 * S, well=True)
    assert paced.next_due_ns == 2.3 * S


TWO_TURNS = (planned(0, session=0), planned(1, session=0, turn=1, think_s=1.0), planned(2, session=1))


def test_a_second_turn_follows_on_the_slot_of_the_first() -> None:
    paced = pace(ClosedLoop(1), TWO_TURNS)
    assert taken(paced, 0) == [Due(0, 0)]
    assert paced.ended(0, 5 * S, well=True) == ()
    assert taken(paced, 9 * S) == [Due(6 * S, 1)]
    paced.ended(1, 10 * S, well=True)
    assert taken(paced, 10 * S) == [Due(10 * S, 2)]


@pytest.mark.parametrize("arrivals", [ClosedLoop(1), OpenLoop((0.0, 4.0))])
def test_a_failed_turn_ends_its_session_and_names_what_is_given_up(arrivals: ClosedLoop | OpenLoop) -> None:
    paced = pace(arrivals, TWO_TURNS)
    assert taken(paced, 0) == [Due(0, 0)]
    assert paced.ended(0, 4 * S, well=False) == [1]
    assert taken(paced, 4 * S) == [Due(4 * S, 2)]
    assert paced.ended(2, 5 * S, well=False) == []
    assert paced.left(all_turns=True) == []


def test_an_open_loop_does_not_wait_for_answers() -> None:
    paced = pace(OpenLoop((0.5, 0.25, 3.0)), 3)
    assert taken(paced, S) == [Due(S // 4, 1), Due(S // 2, 0)]
    assert paced.next_due_ns == 3 * S
    paced.ended(1, 9 * S, well=False)
    assert taken(paced, 9 * S) == [Due(3 * S, 2)]


def test_in_an_open_loop_a_second_turn_is_due_after_the_first_ended() -> None:
    paced = pace(OpenLoop((0.0, 9.0)), TWO_TURNS)
    assert taken(paced, 0) == [Due(0, 0)]
    paced.ended(0, 2 * S, well=True)
    assert taken(paced, 4 * S) == [Due(3 * S, 1)]


def test_nothing_becomes_due_after_the_stated_duration() -> None:
    paced = pace(ClosedLoop(2), 6, duration_s=10.0)
    assert paced.stop_ns == 10 * S
    assert len(taken(paced, S)) == 2
    paced.ended(0, 9 * S, well=True)
    paced.ended(1, 10 * S, well=True)
    assert taken(paced, 99 * S) == [Due(9 * S, 2)]  # due before the end, however late it is taken
    assert paced.next_due_ns is None


def test_what_is_left_is_all_that_was_never_handed_out() -> None:
    paced = pace(ClosedLoop(1), (*TWO_TURNS, planned(3), planned(4)))
    (first,) = taken(paced, 0)
    paced.put_back(first)
    assert paced.left(all_turns=True) == [0, 1, 2, 3, 4]
    assert paced.next_due_ns is None
    paced = pace(ClosedLoop(1), 3)
    assert paced.left(all_turns=False) == [0]


def simulate(paced: Pace, service_s: Callable[[int], float]) -> list[tuple[int, int]]:
    """Answer every request after its service time, on a virtual clock → (sent, ended) of each."""
    running: list[tuple[int, int, int]] = []
    spans: list[tuple[int, int]] = []
    now_ns = 0
    while True:
        while (due := paced.take(now_ns)) is not None:
            running.append((now_ns + round(service_s(due.position) * S), due.position, now_ns))
        moments = [moment for moment in (paced.next_due_ns, min(running)[0] if running else None) if moment is not None]
        if not moments:
            return spans
        now_ns = min(moments)
        for end in [r for r in running if r[0] <= now_ns]:
            running.remove(end)
            spans.append((end[2], end[0]))
            paced.ended(end[1], end[0], well=True)


def test_a_closed_loop_never_has_more_in_flight_than_slots() -> None:
    spans = simulate(pace(ClosedLoop(3), 40), lambda position: 0.1 + 0.07 * (position % 5))
    assert len(spans) == 40
    peak = max(sum(sent <= moment < ended for sent, ended in spans) for moment, _ in spans)
    assert peak == 3
