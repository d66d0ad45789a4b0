"""The steps of a study that run something: each is done once, stored, and read back on resume.

    behaviour of a number type   speed of a candidate (a Trial)   one block of the finals

An engine that dies in screening is a trial's state, a verification that cannot run is inconclusive; a block of the
finals raises, and finals.py puts its candidate out. Ctrl-C goes up as KeyboardInterrupt when the run's files are whole.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from paretoken.core.candidate import Candidate, Model, digest_of
from paretoken.core.doubt import Doubt
from paretoken.core.objective import Objective
from paretoken.core.record import Record
from paretoken.core.request import Workload
from paretoken.core.trial import Trial
from paretoken.errors import CaptureError, EngineError, ModelError, UsageError
from paretoken.frontier.pareto import MOST_FAILED_SHARE
from paretoken.metrics.cost import Price
from paretoken.metrics.slo import per_request
from paretoken.metrics.summary import summarise
from paretoken.records.whole import whole_records
from paretoken.study.bench import Bench
from paretoken.study.file import StudyFile
from paretoken.study.plan import SLOT_POSITIONS
from paretoken.study.run import Run, run_candidate
from paretoken.verification.answers import differing_answers
from paretoken.verification.service import check_slots
from paretoken.verification.verify import screen, verify
from paretoken.workloads.chat import chat

WARMUP_OUTPUT_TOKENS = 4
OUT_OF_MEMORY = "out of memory"


@dataclass(frozen=True, slots=True)
class Steps:
    """What every step of one study shares."""

    bench: Bench
    file: StudyFile
    objective: Objective
    seed: int
    price: Price | None

    @property
    def streams(self) -> int:
        return self.objective.load.concurrency or 1

    def workload(self, requests: int, block: int) -> Workload:
        """The same for every candidate of one block: equal work. One short warm-up request a stream fills the caches
        that the workload declares to share."""
        return chat(
            requests=requests,
            output_tokens=self.objective.output_tokens,
            seed=self.seed * 1000 + block,
            warmup=self.streams,
            warmup_output_tokens=WARMUP_OUTPUT_TOKENS,
        )

    def key(self, candidate: Candidate, workload: Workload) -> str:
        """Decision rule 10: a changed part never hits what was stored."""
        return digest_of(
            {
                "engine": self.bench.engine.version(),
                "candidate": candidate.key,
                "workload": workload.digest,
                "load": self.objective.load.as_json(),
                "machine": self.bench.machine["fingerprint"],
            }
        )

    # Behaviour

    def screen_behaviour(self, base: Model, model: Model) -> dict[str, Any]:
        """A quick look: enough to drop what is far off, not to keep."""
        margin = self.objective.behaviour_margin_nat

        def look() -> dict[str, Any]:
            return screen(base, model, margin_nat=margin).as_json()

        return self._looked("behaviour_screen", self._pair_key(base, model), look)

    def answers_that_differ(self, base: Model, model: Model) -> list[dict[str, Any]]:
        """Two prompts that a refused model answers otherwise."""

        def ask() -> dict[str, Any]:
            try:
                pairs = differing_answers(base, model)[:2]
            except (EngineError, ModelError) as error:
                return {"pairs": [], **_inconclusive(error)}
            return {"pairs": [pair.as_json() for pair in pairs]}

        found: list[dict[str, Any]] = self.file.once("answers", self._pair_key(base, model), ask)["pairs"]
        return found

    def verify_model(self, base: Model, model: Model, positions: int) -> dict[str, Any]:
        """Decision rule 7 on the finalist, with the floors."""
        margin = self.objective.behaviour_margin_nat

        def look() -> dict[str, Any]:
            say = self.bench.talk.progress
            return verify(base, model, positions=positions, margin_nat=margin, on_progress=say).as_json()

        return self._looked("behaviour", f"{self._pair_key(base, model)}/{positions}", look)

    def verify_slots(self, candidate: Candidate) -> dict[str, Any]:
        """Decision rule 6 on the candidate's own weights: its slots against one."""
        slots = int(candidate.engine_settings.get("slots", 1))

        def look() -> dict[str, Any]:
            say = self.bench.talk.progress
            return check_slots(candidate.model, slots, SLOT_POSITIONS, on_progress=say).as_json()

        return self._looked("intact", f"{self._pair_key(candidate.model, candidate.model)}/{slots}", look)

    def _looked(self, kind: str, key: str, look: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """A look that failed is inconclusive now and not stored: a resume looks again."""
        try:
            return self.file.once(kind, key, look)
        except (EngineError, ModelError) as error:
            return _inconclusive(error)

    def _pair_key(self, base: Model, model: Model) -> str:
        return digest_of(
            {
                "engine": self.bench.engine.version(),
                "base": base.fingerprint,
                "model": model.fingerprint,
                "margin": self.objective.behaviour_margin_nat,
                "machine": self.bench.machine["fingerprint"],
            }
        )

    # Speed

    def screen_speed(self, candidate: Candidate, requests: int) -> Trial:
        """One run of the screening workload, as a Trial in whatever state it ended."""
        workload = self.workload(requests, block=900)
        key = self.key(candidate, workload)

        def run() -> dict[str, Any]:
            try:
                done = self._undisturbed_run(candidate, workload, f"the screening of {candidate.label}")
            except (EngineError, UsageError, ModelError) as error:
                return {
                    "state": _state_of(error),
                    "reason": str(error).splitlines()[0],
                    "run_ids": [],
                    "metrics": {},
                    "doubts": [],
                }
            summary = summarise(
                done.records,
                load=self.objective.load,
                slo=per_request(self.objective.slo),
                price=self.price,
                seed=self.seed,
            ).as_json()
            failed = done.failed_share > MOST_FAILED_SHARE
            return {
                "state": "infeasible" if failed else "complete",
                "reason": f"{done.failed_share:.0%} of its requests failed" if failed else None,
                "run_ids": [done.id],
                "metrics": summary["metrics"],
                "requests": summary["requests"],
                "doubts": [{"name": doubt.name, "seen": doubt.seen} for doubt in done.doubts],
            }

        return trial_of("screening", candidate, key, self.file.once("trial", key, run))

    def has_block(self, candidate: Candidate, requests: int, block: int) -> bool:
        return self._stored_block(candidate, requests, block) is not None

    def _stored_block(self, candidate: Candidate, requests: int, block: int) -> "Block | None":
        """What is stored of a block, if it is whole: figures over what happens to be left would look like its own."""
        workload = self.workload(requests, block)
        data = self.file.done("block", self._block_key(candidate, requests, block))
        if data is None:
            return None
        try:
            found = self._read(data)
        except CaptureError as error:
            self.bench.talk.line(f"  block {block + 1} of {candidate.label} is run again: {error}")
            return None
        if len(found.records) == len(workload.requests):
            return found
        self.bench.talk.line(
            f"  block {block + 1} of {candidate.label} is run again: {len(found.records)} of its "
            f"{len(workload.requests)} records are left"
        )
        return None

    def _read(self, data: dict[str, Any]) -> "Block":
        records = tuple(whole_records(self.bench.store.run(data["run_id"])))
        return Block(data["run_id"], records, doubts_from(data["doubts"]), data["clock"])

    def broken(self, candidate: Candidate, requests: int) -> str | None:
        """Why this candidate broke in the finals of an earlier session, or None."""
        known = self.file.done("broken", self._block_key(candidate, requests, 0))
        return None if known is None else str(known["reason"])

    def break_off(self, candidate: Candidate, requests: int, reason: str) -> str:
        self.file.append("broken", self._block_key(candidate, requests, 0), {"reason": reason})
        return reason

    def _block_key(self, candidate: Candidate, requests: int, block: int) -> str:
        return f"{self.key(candidate, self.workload(requests, block))}/{block}"

    def block(self, candidate: Candidate, requests: int, block: int, *, again: bool = False) -> "Block":
        """One block of the finals. `again`: whatever is stored of it is run anew."""
        workload = self.workload(requests, block)
        key = self._block_key(candidate, requests, block)

        def run() -> dict[str, Any]:
            done = self._undisturbed_run(candidate, workload, f"block {block + 1} of {candidate.label}")
            return {
                "label": candidate.label,
                "block": block,
                "run_id": done.id,
                "doubts": [{"name": doubt.name, "seen": doubt.seen} for doubt in done.doubts],
                "clock": done.clock,
            }

        found = None if again else self._stored_block(candidate, requests, block)
        if found is None:
            data = run()
            self.file.append("block", key, data)
            found = self._read(data)
        return found

    def _undisturbed_run(self, candidate: Candidate, workload: Workload, what: str) -> Run:
        """Repeated once where others disturbed it or a doubt forbids to believe it, then left as it is, with its doubt
        (decision rule 3)."""
        done = self._whole_run(candidate, workload)
        disturbed = next((d.seen for d in done.doubts if d.fatal or d.name == "host_contended"), done.died)
        if disturbed is not None:
            self.bench.talk.line(f"  {what} is repeated: {disturbed}")
            done = self._whole_run(candidate, workload)
        if done.died is not None:
            raise EngineError(f"its load was cut off twice: {done.died}")
        return done

    def _whole_run(self, candidate: Candidate, workload: Workload) -> Run:
        done = run_candidate(self.bench, candidate, workload, self.objective.load)
        if done.interrupted:
            raise KeyboardInterrupt
        return done


@dataclass(frozen=True, slots=True)
class Block:
    run_id: str
    records: tuple[Record, ...]
    doubts: tuple[Doubt, ...]
    clock: str


def _inconclusive(error: Exception) -> dict[str, Any]:
    """What could not be looked at is not kept: a verification fails closed."""
    return {"verdict": "inconclusive", "reason": f"not verified: {str(error).splitlines()[0]}", "kld": None}


def doubts_from(stored: list[dict[str, str]]) -> tuple[Doubt, ...]:
    return tuple(Doubt(item["name"], item["seen"]) for item in stored)


def trial_of(phase: str, candidate: Candidate, key: str, data: Mapping[str, Any]) -> Trial:
    return Trial(
        id=key[:12],
        phase=phase,
        candidate=candidate,
        state=data["state"],
        reason=data["reason"],
        key=key,
        run_ids=tuple(data["run_ids"]),
        metrics=data["metrics"],
        doubts=doubts_from(data["doubts"]),
    )


def _state_of(error: Exception) -> str:
    """What to call a trial whose engine gave up: settings that don't fit and memory that doesn't suffice are
    infeasible, everything else crashed."""
    if isinstance(error, UsageError | ModelError) or OUT_OF_MEMORY in str(error).lower():
        return "infeasible"
    return "timeout" if "not ready" in str(error) else "crashed"
