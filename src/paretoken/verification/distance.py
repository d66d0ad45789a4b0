"""How far one next-token distribution lies from another, per position, over the whole vocabulary.

Enter float32 logits (positions × vocabulary) of the baseline p and of a candidate q, and the tokens that really come
next; leave per position: KLD Σ p(ln p − ln q) in nats, ln p_t − ln q_t, q_t − p_t, −ln p_t, the top tokens and the
baseline's top-2 gap. Knows nothing of engines, files or verdicts.

Exponentials are float32 after the shift by the row's maximum, sums are float64; against an all-float64 reference a
KLD is off by less than 1e-6 nat (a test holds it there), far below anything that is judged.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Logits = NDArray[np.float32]
Ints = NDArray[np.int64]

# Rows worked on at a time: their float32 temporaries stay inside the cache of a core.
_ROWS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Distances:
    """One number a position in every array."""

    kld: Floats
    log_ratio: Floats  # ln p_t − ln q_t of the token that really comes next
    delta_p: Floats  # q_t − p_t
    base_nll: Floats  # −ln p_t
    gap: Floats  # ln of the baseline's best over its second best, nats
    base_top: Ints
    top: Ints


class Reference:
    """The baseline's side, prepared once and compared with many candidates."""

    def __init__(self, logits: Logits, targets: Ints) -> None:
        """Takes `logits` over: they are shifted in place, since a copy would cost as much memory again."""
        n = len(logits)
        every = np.arange(n)
        self.targets = targets
        self.top: Ints = logits.argmax(axis=1).astype(np.int64)
        best = logits[every, self.top]
        self.shifted = logits  # to be logit − best: 0 for the top token
        self.weight = np.empty_like(logits)  # e^shifted: p times `total`
        self.total: Floats = np.empty(n)
        self.gap: Floats = np.empty(n)
        with np.errstate(invalid="ignore", over="ignore"):
            for start in range(0, n, _ROWS):
                rows = slice(start, start + _ROWS)
                self.shifted[rows] -= best[rows, None]
                np.exp(self.shifted[rows], out=self.weight[rows])
                self.total[rows] = self.weight[rows].sum(axis=1, dtype=np.float64)
                second = self.shifted[rows].copy()
                second[np.arange(len(second)), self.top[rows]] = -np.inf
                self.gap[rows] = -second.max(axis=1)
            self.log_p: Floats = self.shifted[every, targets].astype(np.float64) - np.log(self.total)

    @property
    def vocabulary(self) -> int:
        return int(self.shifted.shape[1])

    def distances(self, logits: Logits, rows: slice = slice(None)) -> Distances:
        """Compares the candidate's logits with these rows of the baseline.

        Where the vocabularies are padded differently the shared leading part is compared; whether the tokens are the
        same ones is for the caller to check first.
        """
        first, last, _ = rows.indices(len(self.total))
        shared = min(self.vocabulary, logits.shape[1])
        kld, log_q = np.empty(last - first), np.empty(last - first)
        top = np.empty(last - first, dtype=np.int64)
        targets = self.targets[first:last]
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            for start in range(first, last, _ROWS):
                base = slice(start, min(start + _ROWS, last))
                mine = slice(base.start - first, base.stop - first)
                some = logits[mine, :shared]
                every = np.arange(len(some))
                top[mine] = some.argmax(axis=1)
                shifted = some - some[every, top[mine], None]
                log_total = np.log(np.exp(shifted).sum(axis=1, dtype=np.float64))
                log_q[mine] = shifted[every, targets[mine]] - log_total
                weight = self.weight[base, :shared]
                terms = np.subtract(self.shifted[base, :shared], shifted, out=shifted)
                terms *= weight
                summed = terms.sum(axis=1, dtype=np.float64)
                # A token that the baseline rules out (logit −inf) adds nothing; 0 · ∞ would make it a NaN.
                if not np.isfinite(summed).all():
                    terms[weight == 0] = 0.0
                    summed = terms.sum(axis=1, dtype=np.float64)
                kld[mine] = summed / self.total[base] - np.log(self.total[base]) + log_total
        log_p = self.log_p[first:last]
        return Distances(
            kld=kld,
            log_ratio=log_p - log_q,
            delta_p=np.exp(log_q) - np.exp(log_p),
            base_nll=-log_p,
            gap=self.gap[first:last],
            base_top=self.top[first:last],
            top=top,
        )
