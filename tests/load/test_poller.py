"""The poller says what is ready, whether or not something is due."""

import math
import socket
import sys
import time
from collections.abc import Iterator

import pytest

from paretoken.load.poller import READ, WRITE, Poller


@pytest.fixture
def pair() -> Iterator[tuple[Poller, socket.socket, socket.socket]]:
    poller = Poller()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        poller.watch(ours.fileno(), READ)
        yield poller, ours, theirs
    poller.close()


@pytest.mark.parametrize("left_ns", [-5, 0, 100_000, 1_500_000, 9_000_000_000])
@pytest.mark.parametrize("exactly", [True, False])
def test_what_can_be_read_is_said_at_once(
    pair: tuple[Poller, socket.socket, socket.socket], left_ns: int, exactly: bool
) -> None:
    poller, ours, theirs = pair
    theirs.send(b"!")
    assert list(poller.wait(left_ns, exactly=exactly)) == [(ours.fileno(), READ)]


@pytest.mark.skipif(sys.platform != "linux", reason="other selectors do not round")
def test_it_never_sleeps_past_the_moment_that_something_is_due(
    pair: tuple[Poller, socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a virtual clock: what it asks the kernel to wait stays below what is left. The selector counts in whole
    milliseconds and rounds up; select does not."""
    poller, _, _ = pair
    rounded_s: list[float] = []
    exact_s: list[float] = []

    class Queue:
        def poll(self, timeout: float, _: int) -> list[object]:
            rounded_s.append(math.ceil(timeout * 1000) / 1000)
            return []

        def close(self) -> None: ...

    def select(r: object, w: object, x: object, timeout: float) -> tuple[list[int], list[int], list[int]]:
        exact_s.append(timeout)
        return [], [], []

    monkeypatch.setattr(poller, "_queue", Queue())
    monkeypatch.setattr("select.select", select)
    for left_ns in (9_999_999, 2_000_001, 2_000_000, 1_300_000, 200_001, 200_000, 50, -7):
        rounded_s.clear()
        exact_s.clear()
        assert list(poller.wait(left_ns, exactly=True)) == []
        assert sum(rounded_s + exact_s) * 1e9 <= max(0, left_ns) + 1
        assert (sum(rounded_s + exact_s) == 0) == (left_ns <= 200_000)


def test_masks_change_and_are_forgotten(pair: tuple[Poller, socket.socket, socket.socket]) -> None:
    poller, ours, _ = pair
    assert list(poller.wait(0, exactly=False)) == []
    poller.change(ours.fileno(), READ | WRITE)
    assert list(poller.wait(0, exactly=False)) == [(ours.fileno(), WRITE)]
    poller.forget(ours.fileno())
    before = time.monotonic()
    assert list(poller.wait(1_000_000, exactly=False)) == []
    assert time.monotonic() >= before
