"""Which run next: the one whose expected gain a second is largest, and none where no gain is worth it.

A belief about the points (search/step_time.py), what a run costs and how likely it succeeds enter; a choice leaves. The
gain of a run is the knowledge gradient (Frazier, Powell and Dayanik 2008) beyond a margin: how much higher the mean of
the point that we would take is expected to be once the run is known. So a repeat is asked only where it can change who
is best.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paretoken.search.step_time import Belief, Vector

STOP_GAIN = 0.0005  # expected gain in log rate (0.05 %) below which no run is worth its time
MARGIN = 0.01  # in log rate: being better by less is no gain, so that points that are alike end the search
LOOK = 4.0  # a run is valued as if it told as much as four: the gain of one noisy run underrates a first look
FAIL_SHARE = 0.05  # of the points expected to fail before anything ran; that expectation weighs as much as one run
ALIKE = 0.5  # what a run says about success counts so much less for every axis in which two points differ

_Z = np.linspace(-5.0, 5.0, 101)  # standard deviations of what a run may say
_WEIGHT = np.exp(-(_Z**2) / 2) / np.sum(np.exp(-(_Z**2) / 2))


@dataclass(frozen=True, slots=True)
class Offer:
    """A run that might be asked: a point by its place, and the expected seconds of that run."""

    at: int
    seconds: float


def choice(belief: Belief, offers: Sequence[Offer], known: Sequence[int], success: Vector) -> Offer | None:
    """The offer with the most expected gain a second; None where none has a gain worth asking for. `known`: the
    points with a complete run, which alone can be taken; at least one."""
    if not offers:
        return None
    worth = gains(belief, offers, known) * success[[offer.at for offer in offers]]
    a_second = np.where(worth < STOP_GAIN, 0.0, worth) / np.array([offer.seconds for offer in offers])
    return offers[int(a_second.argmax())] if a_second.any() else None


def gains(belief: Belief, offers: Sequence[Offer], known: Sequence[int]) -> Vector:
    """By how much a point is expected to be above the one taken now by more than the margin, in log rate, after the
    run of each offer. Who can be: the points that were run, and after its run the offer's own. What a run says of one
    point moves all that are like it. With a margin of 0: E[highest mean after the run] − highest mean now."""
    at, among = np.array([offer.at for offer in offers]), np.array(known)
    variance = belief.covariance[at, at]
    spread = np.sqrt(variance + belief.noise_sd**2 / LOOK)
    means = np.column_stack([np.tile(belief.mean[among], (len(at), 1)), belief.mean[at]])
    moves = np.column_stack([belief.covariance[np.ix_(at, among)], variance]) / spread[:, None]
    taken = int(belief.mean[among].argmax())
    above, moved = means - means[:, [taken]] - MARGIN, moves - moves[:, [taken]]
    after = np.max(above[:, :, None] + moved[:, :, None] * _Z, axis=1)
    return np.asarray(np.maximum(after, 0.0) @ _WEIGHT)


def likeness(differences: Vector) -> Vector:
    """From the number of axes in which each two points differ: how much a run of one says of the other's success."""
    return np.asarray(ALIKE**differences)


def success_of(alike: Vector, outcomes: Sequence[tuple[int, bool]]) -> Vector:
    """The probability that a run of each point succeeds, after these runs (a point's place, whether it succeeded)."""
    ran, failed = np.ones(len(alike)), np.full(len(alike), FAIL_SHARE)
    for at, succeeded in outcomes:
        ran += alike[at]
        failed += 0.0 if succeeded else alike[at]
    return 1.0 - failed / ran
