"""The steps of a study that run something: each is done once, stored, and read back on resume.

    behaviour of a model   intactness of a service   speed of a candidate (a Trial)   one block of the finals

An engine that dies in screening is a trial's state, a verification that cannot run is inconclusive; a block of the
finals raises, and finals.py puts its candidate out. Ctrl-C goes up as KeyboardInterrupt when the run's files are whole.
"""

import time
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
from paretoken.study.intactness import service_verdict
from paretoken.study.merit import merit
from paretoken.study.run import Run, run_candidate
from paretoken.verification.answers import PROMPTS, differing_answers
from paretoken.verification.verify import screen, verify
from paretoken.workloads import WORKLOADS

WARMUP_OUTPUT_TOKENS = 4
SCREENING_BLOCK = 900  # numbers of workloads: the finals' are from 0 on, so that their prompts are fresh
OUT_OF_MEMORY = "out of memory"
ASKED = 3  # prompts to a refused model, of which two that it answers otherwise are shown


@dataclass(frozen=True, slots=True)
class Steps:
    """What every step of one study shares."""

    bench: Bench
    file: StudyFile
    objective: Objective
    seed: int
    price: Price | None
    strategy: str = "racing"
    asks: str = "chat"  # a name in WORKLOADS

    @property
    def streams(self) -> int:
        return self.objective.load.concurrency or 1

    def workload(self, requests: int, block: int) -> Workload:
        """The same for every candidate of one block: equal work. One short warm-up request a stream fills the caches
        that the workload declares to share."""
        make = WORKLOADS.load(self.asks)
        found: Workload = make(
            requests=requests,
            output_tokens=self.objective.output_tokens,
            seed=self.seed * 1000 + block,
            warmup=self.streams,
            warmup_output_tokens=WARMUP_OUTPUT_TOKENS,
        )
        return found

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

    def screen_behaviour(self, base: Model, candidate: Candidate) -> dict[str, Any]:
        """A quick look at the candidate's model level: enough to drop what is far off, not to keep."""
        margin, kv_type = self.objective.behaviour_margin_nat, kv_type_of(candidate)

        def look() -> dict[str, Any]:
            return screen(base, candidate.model, margin_nat=margin, kv_type=kv_type).as_json()

        return self._looked("behaviour_screen", self._pair_key(base, candidate.model, kv_type), look)

    def answers_that_differ(self, base: Model, candidate: Candidate) -> list[dict[str, Any]]:
        """Two prompts that a refused model level answers otherwise."""
        model, kv_type = candidate.model, kv_type_of(candidate)

        def ask() -> dict[str, Any]:
            try:
                pairs = differing_answers(base, model, PROMPTS[:ASKED], kv_type=kv_type)[:2]
            except (EngineError, ModelError) as error:
                return {"pairs": [], **_inconclusive(error)}
            return {"pairs": [pair.as_json() for pair in pairs]}

        found: list[dict[str, Any]] = self.file.once("answers", self._pair_key(base, model, kv_type), ask)["pairs"]
        return found

    def verify_model(self, base: Model, candidate: Candidate, positions: int) -> dict[str, Any]:
        """Decision rule 7 on the finalist, with the floors."""
        margin, kv_type = self.objective.behaviour_margin_nat, kv_type_of(candidate)

        def look() -> dict[str, Any]:
            say, model = self.bench.talk.progress, candidate.model
            found = verify(base, model, positions=positions, margin_nat=margin, kv_type=kv_type, on_progress=say)
            return found.as_json()

        return self._looked("behaviour", f"{self._pair_key(base, candidate.model, kv_type)}/{positions}", look)

    def verify_service(self, before: Candidate, after: Candidate) -> dict[str, Any]:
        """Decision rule 6 on the candidate's own weights: its service settings against the engine's own."""

        def look() -> dict[str, Any]:
            return service_verdict(self.bench, before, after)

        key = digest_of({"before": before.key, "after": after.key, "machine": self.bench.machine["fingerprint"]})
        return self._looked("intact", key, look)

    def _looked(self, kind: str, key: str, look: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """A look that failed is inconclusive now and not stored: a resume looks again."""
        try:
            return self.file.once(kind, key, look)
        except (EngineError, ModelError) as error:
            return _inconclusive(error)

    def _pair_key(self, base: Model, model: Model, kv_type: str = "f16") -> str:
        return digest_of(
            {
                "engine": self.bench.engine.version(),
                "base": base.fingerprint,
                "model": model.fingerprint,
                "kv_type": kv_type,
                "margin": self.objective.behaviour_margin_nat,
                "machine": self.bench.machine["fingerprint"],
            }
        )

    # Speed

    def screen_speed(self, candidate: Candidate, requests: int, repeat: int = 0) -> Trial:
        """One run of the search's workload, as a Trial in whatever state it ended; each repeat asks other prompts."""
        workload = self.workload(requests, block=SCREENING_BLOCK + repeat)
        key = self.key(candidate, workload)

        def run() -> dict[str, Any]:
            began_s = time.monotonic()
            try:
                done = self._undisturbed_run(candidate, workload, f"the screening of {candidate.label}")
            except (EngineError, UsageError, ModelError) as error:
                return {
                    "state": _state_of(error),
                    "reason": str(error).splitlines()[0],
                    "run_ids": [],
                    "metrics": {},
                    "doubts": [],
                    "seconds": time.monotonic() - began_s,
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
                "merit": merit(done.records, summary["metrics"], self.objective),
                "seconds": time.monotonic() - began_s,
                "memory_bytes": done.memory_bytes,
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
        return Block(data["run_id"], records, doubts_from(data["doubts"]), data["clock"], data.get("memory_bytes"))

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
                "memory_bytes": done.memory_bytes,
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
    memory_bytes: int | None = None


def kv_type_of(candidate: Candidate) -> str:
    return str(candidate.engine_settings.get("kv_type", "f16"))


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
        merit=data.get("merit"),
        seconds=data.get("seconds", 0.0),
        memory_bytes=data.get("memory_bytes"),
        doubts=doubts_from(data["doubts"]),
    )


def _state_of(error: Exception) -> str:
    """What to call a trial whose engine gave up: settings that don't fit and memory that doesn't suffice are
    infeasible, everything else crashed."""
    if isinstance(error, UsageError | ModelError) or OUT_OF_MEMORY in str(error).lower():
        return "infeasible"
    return "timeout" if "not ready" in str(error) else "crashed"
