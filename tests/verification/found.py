"""Positions made up for tests: from two models' logits, or from distances alone."""

import numpy as np
from numpy.typing import ArrayLike

from paretoken.verification.distance import Reference
from paretoken.verification.positions import Positions


def from_logits(base: ArrayLike, candidate: ArrayLike, targets: ArrayLike, document: ArrayLike = 0) -> Positions:
    p, q = np.array(base, dtype=np.float32), np.asarray(candidate, dtype=np.float32)
    found = Reference(p, np.asarray(targets, dtype=np.int64)).distances(q)
    return Positions(
        document=np.broadcast_to(np.asarray(document, dtype=np.int64), (len(p),)),
        kld=found.kld,
        log_ratio=found.log_ratio,
        delta_p=found.delta_p,
        base_nll=found.base_nll,
        gap=found.gap,
        base_top=found.base_top,
        top=found.top,
    )


def from_kld(kld: ArrayLike, documents: int, *, flips: int = 0, gap: float = 1.0) -> Positions:
    """Equal documents of given KLDs; the first `flips` positions have another top token, every gap is `gap`."""
    values = np.asarray(kld, dtype=np.float64)
    n = len(values)
    top = np.zeros(n, dtype=np.int64)
    top[:flips] = 1
    return Positions(
        document=np.arange(n) * documents // n,
        kld=values,
        log_ratio=np.full(n, 0.001),
        delta_p=np.full(n, 0.001),
        base_nll=np.full(n, 2.0),
        gap=np.full(n, gap),
        base_top=np.zeros(n, dtype=np.int64),
        top=top,
    )


def with_flips(near_ties: int, near_flips: int, clear: int, hard_flips: int) -> Positions:
    """`near_ties` positions with a gap of 0.01 nat, `clear` ones with 1 nat, the given numbers of each flipped."""
    n = near_ties + clear
    top = np.zeros(n, dtype=np.int64)
    top[:near_flips] = 1
    top[near_ties : near_ties + hard_flips] = 1
    return Positions(
        document=np.arange(n) % 8,
        kld=np.full(n, 0.001),
        log_ratio=np.full(n, 0.001),
        delta_p=np.full(n, 0.001),
        base_nll=np.full(n, 2.0),
        gap=np.concatenate([np.full(near_ties, 0.01), np.full(clear, 1.0)]),
        base_top=np.zeros(n, dtype=np.int64),
        top=top,
    )
