"""Are a candidate's service settings intact (decision rule 6)? Each change is looked at where it shows.

Enters two candidates with the same model level, one with the engine's own service settings; leaves one verdict, the
worst of its checks. What changes the model's computations (slots, threads, prefill pieces, flash attention) shows in
logits; what lives in the server (speculation, samplers, prompt cache, replicas) shows in its answers only.
"""

from collections.abc import Callable, Mapping
from typing import Any

from paretoken.core.candidate import SERVICE_LEVEL, Candidate
from paretoken.engines.base import Running
from paretoken.engines.replicas import launch_candidate
from paretoken.search.space import Option, Point
from paretoken.study.bench import Bench
from paretoken.study.plan import SLOT_POSITIONS
from paretoken.study.space import DEFAULT
from paretoken.techniques import TECHNIQUES
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
        checks.append(_in_texts(bench, _without_texts(before, after) if logits else before, after, before))
    worst = min(checks, key=lambda found: _ORDER.index(found["verdict"]))
    return {**worst, "checks": checks}


def guilty_of(point: Point, found: Mapping[str, Any]) -> frozenset[tuple[str, Option]]:
    """The options of a point that this verdict is about: who has them too, and perhaps more, is not intact either."""
    axes = IN_LOGITS if found.get("evidence") == "logits" else IN_TEXTS
    return frozenset((axis, option) for axis, option in point.pairs if axis in axes and option != DEFAULT)


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


def _in_texts(bench: Bench, plain: Candidate, after: Candidate, before: Candidate) -> dict[str, Any]:
    """`plain` has what was looked at in logits already: slots and prefill pieces move which prompts share a cached
    prefix, and with that the rounding. Replicas have slots of their own again, so there the engine's own way shows too
    what rounding alone does."""

    def launch(candidate: Candidate) -> Callable[[], Running]:
        settings = bench.settings(dict(candidate.engine_settings))
        return lambda: launch_candidate(bench.engine, candidate.model.path, settings, candidate.replicas)

    def extra(candidate: Candidate) -> Mapping[str, Any]:
        return bench.engine.request_extra(bench.settings(dict(candidate.engine_settings)))

    found: dict[str, Any] = check_texts(
        launch(plain),
        launch(after),
        extra_before=extra(plain),
        extra_after=extra(after),
        launch_floor=launch(before) if after.replicas > 1 and plain.key != before.key else None,
        drafts=any(applied.technique == "speculate" for applied in after.techniques),
        change=", ".join(f"{k} {v}" for k, v in after.engine_settings.items() if plain.engine_settings.get(k) != v),
        on_progress=bench.talk.progress,
    ).as_json()
    return found


def _without_texts(before: Candidate, after: Candidate) -> Candidate:
    """`before` with those service techniques of `after` that show in logits."""
    found = before
    for applied in after.techniques:
        if applied.level == SERVICE_LEVEL and applied.technique not in IN_TEXTS:
            found = TECHNIQUES.load(applied.technique)().apply(found, applied.settings)
    return found
