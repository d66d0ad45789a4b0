"""The public `verify`: is the candidate's behaviour still the baseline's?

Enter two models (names, paths or `Model`), and perhaps another KV type for the candidate; leaves a frozen
`Verification`: decision rule 7's verdict with its evidence, the floors, both models' answers to the same prompts, and
doubts. Screens many candidates of one baseline when the floors are measured once and handed in.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from paretoken.core.candidate import Model
from paretoken.core.doubt import Doubt
from paretoken.machine.quota import cpu_quota
from paretoken.models.find import resolve
from paretoken.models.gguf_header import read_header
from paretoken.verification.answers import PROMPTS, Pair, broken_answers, chats, pairs_of
from paretoken.verification.behaviour import MARGIN_NAT, Behaviour, failed, judge
from paretoken.verification.floors import FLOOR_POSITIONS, Floors, floor_reads, floors_of
from paretoken.verification.how import F16, How
from paretoken.verification.logits import (
    BASELINE,
    CANDIDATE,
    Findings,
    NoLogits,
    OnProgress,
    Plan,
    Read,
    read_logits,
)
from paretoken.verification.text import Text, bundled, from_file
from paretoken.verification.tokenizer import mismatch

POSITIONS = 2048
SCREEN_POSITIONS = 256
_UNQUANTISED = ("F32", "F16", "BF16")
# Answers are a sanity check here; differing_answers gives longer ones.
_SANITY_PROMPTS = PROMPTS[:3]
_SANITY_TOKENS = 32


@dataclass(frozen=True, slots=True)
class Verification:
    """`evidence`: logits (whole vocabulary) or top_k (the best tokens only: a lower bound and an estimate)."""

    base: Model
    candidate: Model
    behaviour: Behaviour
    floors: Floors | None
    answers: tuple[Pair, ...]
    doubts: tuple[Doubt, ...]
    evidence: str
    text: str
    positions_asked: int  # `behaviour.positions` are fewer when the text does not hold as many
    engine: dict[str, Any]
    seconds: float
    kv_type: str = F16  # of the candidate's KV cache; the baseline's is f16

    @property
    def verdict(self) -> str:
        return self.behaviour.verdict

    @property
    def passes(self) -> bool:
        """The gate of rule 7: equivalent or changed_small."""
        return self.behaviour.passes

    def as_json(self) -> dict[str, Any]:
        return {
            **self.behaviour.as_json(),
            "evidence": self.evidence,
            "floors": None if self.floors is None else self.floors.as_json(),
            "baseline": self.base.as_json(),
            "candidate": self.candidate.as_json(),
            "kv_type": self.kv_type,
            "answers": [pair.as_json() for pair in self.answers],
            "text": self.text,
            "positions_asked": self.positions_asked,
            "engine": self.engine,
            "seconds": round(self.seconds, 2),
            "doubts": [doubt.as_json() for doubt in self.doubts],
        }


def verify(
    base: Model | str,
    candidate: Model | str,
    *,
    positions: int = POSITIONS,
    margin_nat: float = MARGIN_NAT,
    text: str | None = None,
    floors: Floors | bool = True,
    answers: bool = True,
    kv_type: str = F16,
    on_progress: OnProgress | None = None,
) -> Verification:
    """Compares at about `positions` teacher-forced positions of the bundled text, or of the file `text`.

    `floors`: True measures them, a `Floors` of this baseline is reused, False does without (then nothing can be called
    `equivalent`). `kv_type`: what the candidate keeps its KV cache in; the baseline's is f16.

    Raises ModelError, EngineError, UsageError, MissingExtraError.
    """
    ours, theirs = (m if isinstance(m, Model) else resolve(m) for m in (base, candidate))
    source = bundled(positions) if text is None else from_file(text, positions)
    threads = cpu_quota()
    reads = floor_reads(source, min(positions, FLOOR_POSITIONS), threads) if floors is True else ()
    how = How(threads, kv_type=kv_type)
    first = Read(CANDIDATE, CANDIDATE, how.threads, windows=len(source.documents), kv_type=how.kv_type)
    plan = Plan(
        ours,
        theirs,
        text=source,
        reads=(first, *reads),
        chats=chats(_SANITY_PROMPTS, _SANITY_TOKENS) if answers else None,
        threads=threads,
        candidate_kv_type=kv_type,
    )
    try:
        found = read_logits(plan, on_progress=on_progress)
    except NoLogits as why:
        return _by_top_k(plan, positions, margin_nat, why, on_progress)
    if reads and not found.tokens_differ:
        floors = floors_of(found.positions, reads)
    known = floors if isinstance(floors, Floors) else None
    pairs = pairs_of(found.answers, _SANITY_PROMPTS) if found.answers else ()
    return Verification(
        base=ours,
        candidate=theirs,
        behaviour=_behaviour(found, source, pairs, margin_nat, known),
        floors=known,
        answers=pairs,
        doubts=_doubts(ours),
        evidence="logits",
        text=source.source,
        positions_asked=positions,
        engine=dict(found.engine),
        seconds=found.seconds,
        kv_type=kv_type,
    )


def screen(
    base: Model,
    candidate: Model,
    *,
    floors: Floors | bool = False,
    margin_nat: float = MARGIN_NAT,
    kv_type: str = F16,
) -> Verification:
    """A look at few positions, without answers: enough to drop what is far off (`changed`, `fail`), not to keep."""
    return verify(
        base,
        candidate,
        positions=SCREEN_POSITIONS,
        margin_nat=margin_nat,
        floors=floors,
        answers=False,
        kv_type=kv_type,
    )


def _by_top_k(
    plan: Plan, positions: int, margin_nat: float, why: NoLogits, on_progress: OnProgress | None
) -> Verification:
    """The best tokens from the engine's server, where its C interface is not to be had: no floors, no answers."""
    from paretoken.verification import topk

    base, candidate, text = plan.baseline, plan.candidate, plan.text
    assert candidate is not None
    assert text is not None
    started = time.monotonic()
    other = mismatch(topk.tokenizer_of(base), topk.tokenizer_of(candidate))
    if other:
        behaviour = failed(other, margin_nat=margin_nat)
    else:
        kv_type = plan.candidate_kv_type
        found = topk.read_top_k(base, candidate, text, kv_type=kv_type, on_progress=on_progress)
        behaviour = topk.judge_top_k(found, margin_nat=margin_nat)
    return Verification(
        base=base,
        candidate=candidate,
        behaviour=behaviour,
        floors=None,
        answers=(),
        doubts=_doubts(base),
        evidence="top_k",
        text=text.source,
        positions_asked=positions,
        engine={"why_not_logits": str(why)},
        seconds=time.monotonic() - started,
        kv_type=plan.candidate_kv_type,
    )


def _behaviour(
    found: Findings, text: Text, pairs: Sequence[Pair], margin_nat: float, floors: Floors | None
) -> Behaviour:
    """Distances first; then what makes a candidate useless however near its distances are."""
    floor_nat = None if floors is None else floors.numerics_nat
    other = mismatch(found.tokenizers[BASELINE], found.tokenizers[CANDIDATE]) or found.tokens_differ
    if found.tokens_differ:
        return failed(str(other), margin_nat=margin_nat, floor_nat=floor_nat)
    kinds = {number: document.kind for number, document in enumerate(text.documents)}
    judged = judge(found.positions[CANDIDATE], margin_nat=margin_nat, floor_nat=floor_nat, kinds=kinds)
    broken = other or broken_answers(pairs)
    return replace(judged, verdict="fail", reason=broken) if broken and judged.verdict != "fail" else judged


def _doubts(base: Model) -> tuple[Doubt, ...]:
    kinds = sorted({tensor.type for tensor in read_header(base.path).tensors} - set(_UNQUANTISED))
    if not kinds:
        return ()
    return (Doubt("baseline_already_quantised", f"the baseline holds {', '.join(kinds)} tensors"),)
