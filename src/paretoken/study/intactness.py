"""Are a candidate's service settings intact (decision rule 6)? Each change is looked at where it shows.

Enters two candidates with the same model level, one with the engine's own service settings; leaves one verdict, the
worst of its checks. What changes the model's computations (slots, threads, prefill pieces, flash attention) shows in
logits; what lives in the server (speculation, samplers, prompt cache, replicas) shows in its answers only.
"""

from collections.abc import Callable, Mapping
from typing import Any

from paretoken.core.candidate import Candidate
from paretoken.engines.base import Running
from paretoken.engines.replicas import launch_candidate
from paretoken.study.bench import Bench
from paretoken.study.plan import SLOT_POSITIONS
from paretoken.verification.check_texts import check_texts
from paretoken.verification.how import How
from paretoken.verification.service import check_service

IN_LOGITS = ("batching", "threads", "prefill_chunk", "flash_attention", "replicas")
IN_TEXTS = ("speculate", "samplers", "prompt_cache", "replicas")
_ORDER = ("not_intact", "inconclusive", "intact")


def service_verdict(bench: Bench, before: Candidate, after: Candidate) -> dict[str, Any]:
    """The worst check's JSON, with all of them under `checks`. Raises EngineError, ModelError, UsageError."""
    names = {applied.technique for applied in after.techniques}
    checks = []
    # Only llama.cpp's own library can be asked for logits; of any other engine there are its answers.
    logits = bench.engine.name == "llamacpp"
    if logits and names.intersection(IN_LOGITS):
        checks.append(_in_logits(bench, before, after))
    if names.intersection(IN_TEXTS) or (names and not logits):
        checks.append(_in_texts(bench, before, after))
    worst = min(checks, key=lambda found: _ORDER.index(found["verdict"]))
    return {**worst, "checks": checks}


def _in_logits(bench: Bench, before: Candidate, after: Candidate) -> dict[str, Any]:
    return check_service(
        after.model,
        _how(before.engine_settings),
        _how(after.engine_settings),
        1,
        int(after.engine_settings.get("slots", 1)),
        SLOT_POSITIONS,
        on_progress=bench.talk.progress,
    ).as_json()


def _how(settings: Mapping[str, Any]) -> How:
    return How(
        int(settings["threads"]),
        ubatch=int(settings["ubatch"]),
        flash_attention=str(settings["flash_attention"]),
        kv_type=str(settings["kv_type"]),
        batch_threads=int(settings["batch_threads"]),
    )


def _in_texts(bench: Bench, before: Candidate, after: Candidate) -> dict[str, Any]:
    def launch(candidate: Candidate) -> Callable[[], Running]:
        settings = bench.settings(dict(candidate.engine_settings))
        return lambda: launch_candidate(bench.engine, candidate.model.path, settings, candidate.replicas)

    found: dict[str, Any] = check_texts(
        launch(before),
        launch(after),
        extra_before=bench.engine.request_extra(bench.settings(dict(before.engine_settings))),
        extra_after=bench.engine.request_extra(bench.settings(dict(after.engine_settings))),
        drafts=any(applied.technique == "speculate" for applied in after.techniques),
        change=", ".join(f"{k} {v}" for k, v in after.engine_settings.items() if before.engine_settings.get(k) != v),
        on_progress=bench.talk.progress,
    ).as_json()
    return found
