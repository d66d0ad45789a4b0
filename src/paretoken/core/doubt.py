"""Every way a result can mislead, in one list: what was seen, why it matters, what to do.

The same names serve as `warnings` of a request (core/record.py) and as doubts of a run. A doubt that is `fatal`
forbids a verdict: the comparison is then `invalid`, never "better".
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DoubtKind:
    name: str
    why: str
    do: str
    fatal: bool = False


_KINDS = (
    DoubtKind(
        "client_could_not_keep_schedule",
        "requests left later than they were due, so the load was not the one stated",
        "lower the rate, or give the client a core of its own",
    ),
    DoubtKind(
        "late_start",
        "the first request left long after the run began; a rate over the whole run would understate the server",
        "read the rate over the steady window",
    ),
    DoubtKind(
        "client_saturated",
        "the client was the limit, so the figures describe the client",
        "use fewer streams, more load processes (--workers), or a machine of its own for the client",
        fatal=True,
    ),
    DoubtKind(
        "coalesced_reads",
        "several chunks came in one read: their gaps are an artefact of buffering",
        "judge by TPOT, not by gaps; look for a buffering proxy",
    ),
    DoubtKind("clock_stepped", "the clock jumped during the run", "repeat the run", fatal=True),
    DoubtKind(
        "host_contended",
        "other work ran on this machine; spinning engine threads can slow down many times over",
        "stop the other work and repeat",
    ),
    DoubtKind("warm_up_missing", "the first requests may include start-up work", "give --warmup"),
    DoubtKind(
        "not_steady",
        "the rate had not settled inside the window",
        "make the run longer or the warm-up larger",
    ),
    DoubtKind(
        "drift",
        "later blocks are systematically faster or slower than earlier ones",
        "repeat when it is quiet",
    ),
    DoubtKind(
        "output_length_not_met",
        "answers were shorter or longer than asked, so runs may have done different work",
        "use an engine that honours ignore_eos, or compare only runs of equal length",
    ),
    DoubtKind("input_length_off", "prompts were not of the stated length", "check the tokenizer behind the workload"),
    DoubtKind("too_few_requests", "too few requests for this percentile or interval", "send more requests"),
    DoubtKind(
        "failures_high",
        "many requests failed; percentiles describe the survivors",
        "look at the error classes",
    ),
    DoubtKind(
        "server_timing_inconsistent",
        "the server's own timings contradict the client's",
        "trust the client's timings",
    ),
    DoubtKind(
        "prompt_cache_suspected",
        "prompts were answered faster than undeclared sharing allows",
        "vary the prompts",
    ),
    DoubtKind("model_load_in_ttft", "the first wait includes loading the model", "warm up first"),
    DoubtKind("no_done_marker", "the stream ended without its end marker", "none needed if the finish_reason came"),
    DoubtKind(
        "invalid_utf8",
        "the server sent bytes that are not UTF-8; they are shown as U+FFFD",
        "report to the server",
    ),
    DoubtKind("malformed_events", "some events were not JSON and were left out", "look for a rewriting gateway"),
    DoubtKind(
        "usage_missing",
        "the server did not say how many tokens it made, so token rates and TPOT are unknown",
        "ask the server for usage, or read chunk rates instead",
    ),
    DoubtKind("engine_restarted", "the engine restarted during the run", "look at its log", fatal=True),
    DoubtKind(
        "lengths_differ",
        "realised lengths differ by more than 5 %: unequal work",
        "fix the length",
        fatal=True,
    ),
    DoubtKind("hardware_differs", "the two sides ran on different machines", "run both on one machine", fatal=True),
    DoubtKind(
        "definitions_differ",
        "the two sides used different definitions",
        "measure both with one version",
        fatal=True,
    ),
    DoubtKind(
        "not_interleaved",
        "the two sides ran one after the other, so drift can look like an effect",
        "run both interleaved: paretoken compare A B",
    ),
    DoubtKind("untested_engine", "this engine was never run by the developers", "check a few answers by hand"),
    DoubtKind(
        "baseline_already_quantised",
        "the baseline itself is quantised: a finer type cannot be better than it, only closer or further",
        "start from the original weights if you have them",
    ),
)

DOUBTS = {kind.name: kind for kind in _KINDS}


@dataclass(frozen=True, slots=True)
class Doubt:
    """One doubt raised about one result; `seen` says what was observed, with its number."""

    name: str
    seen: str

    def __post_init__(self) -> None:
        if self.name not in DOUBTS:
            raise ValueError(f"unknown doubt {self.name!r}")

    @property
    def kind(self) -> DoubtKind:
        return DOUBTS[self.name]

    @property
    def fatal(self) -> bool:
        return self.kind.fatal

    def as_json(self) -> dict[str, str]:
        return {"name": self.name, "seen": self.seen, "why": self.kind.why, "do": self.kind.do}
