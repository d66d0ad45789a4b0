"""The way without the engine's C interface: the best thousand tokens of each position, from the engine's own server.

Enter two models and a text; leave a lower bound and an estimate of the KLD of each position, and rule 7's verdict by
them. Slow (some 60 ms a position and model) and blunter than logits: it can show that a model changed, never that it
did not. Raises EngineError when a server does not answer as it should.
"""

import http.client
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from paretoken.core.candidate import Model
from paretoken.engines.exchange import exchange
from paretoken.engines.llamacpp import LlamaCpp, LlamaCppSettings
from paretoken.errors import EngineError
from paretoken.models.gguf_header import Items, read_header
from paretoken.verification.behaviour import Behaviour, failed
from paretoken.verification.blocks import Mean, block_mean
from paretoken.verification.positions import Floats, Ints
from paretoken.verification.text import Text
from paretoken.verification.tokenizer import Tokenizer

TOP = 1000
# More take minutes; the result says how many there were.
MOST_POSITIONS = 512
_TIMEOUT_S = 60.0
# More than what adding up a list of the server's single-precision probabilities can be off by.
_ROUNDING = 1e-5

LogProbs = Mapping[int, float]  # token id → ln probability, of the best tokens


@dataclass(frozen=True, slots=True, eq=False)
class TopK:
    """Per position: the KLD lies at or above `lower`. `estimate` is no bound: what was not returned may be near 0."""

    document: Ints
    lower: Floats
    estimate: Floats
    same_top: Floats


def lower_and_estimate(base: LogProbs, candidate: LogProbs) -> tuple[float, float]:
    """(a lower bound, an estimate) of the KLD from two lists of best tokens; NaN for both where any probability is.

    Lower: what is not in both lists is one lump of p and of q (log-sum inequality). Estimate: Σ over the baseline's
    list, where a token that the candidate did not return has the least q that it did return. Its q is at most that, so
    its term is at least so large; the tails beyond both lists are left out. There is no upper bound, as nothing keeps a
    q that was not returned from being next to 0.
    """
    if any(map(math.isnan, (*base.values(), *candidate.values()))):
        return math.nan, math.nan
    shared = base.keys() & candidate.keys()
    part = math.fsum(math.exp(base[t]) * (base[t] - candidate[t]) for t in shared)
    rest_p = max(0.0, 1.0 - math.fsum(math.exp(base[t]) for t in shared))
    # A larger rest of q makes the bound smaller, so it stays one whatever the server's rounding did to q.
    rest_q = max(0.0, 1.0 - math.fsum(math.exp(candidate[t]) for t in shared)) + _ROUNDING
    lower = max(0.0, part + (rest_p * math.log(rest_p / rest_q) if rest_p else 0.0))
    least = min(candidate.values())
    missing = math.fsum(math.exp(base[t]) * (base[t] - least) for t in base.keys() - shared)
    return lower, max(lower, part + missing)


def judge_top_k(found: TopK, *, margin_nat: float) -> Behaviour:
    """Rule 7 as far as such lists carry it: `changed` when the mean lower bound lies beyond the margin with its whole
    interval, else `inconclusive`: only an upper bound could show that nothing changed, and there is none."""
    n = len(found.lower)
    if n == 0:
        return failed("no position could be compared", margin_nat=margin_nat)
    broken = ~(np.isfinite(found.lower) & np.isfinite(found.estimate))
    if broken.any():
        return failed(f"the distance at position {int(broken.argmax())} is not a number", margin_nat=margin_nat)
    lower, estimate = block_mean(found.lower, found.document), block_mean(found.estimate, found.document)
    span = f"mean KLD about {estimate.value:.2g} nat and at least {lower.value:.2g}, from the best {TOP} tokens only"
    if lower.low is not None and lower.low > margin_nat:
        verdict = "changed"
        reason = f"{span}: the least that it can be lies beyond the margin of {margin_nat:g} (95 %: {lower.low:.2g})"
    else:
        verdict = "inconclusive"
        reason = f"{span}: such lists cannot show that it lies inside the margin of {margin_nat:g}"
    return Behaviour(
        verdict=verdict,
        reason=reason,
        margin_nat=margin_nat,
        floor_nat=None,
        positions=n,
        documents=len(np.unique(found.document)),
        # The scatter of an estimate says nothing about how far it is off, so it has no interval.
        kld=Mean(estimate.value, None, None, None),
        kld_lower=lower,
        same_top=block_mean(found.same_top, found.document),
    )


def tokenizer_of(model: Model) -> Tokenizer:
    """The identity as the file's header has it; padding rows count here."""
    header = read_header(model.path)
    digest = sha256()
    with Path(model.path).open("rb") as file:
        for name in ("tokenizer.ggml.tokens", "tokenizer.ggml.token_type", "tokenizer.ggml.merges"):
            start, end = header.spans.get(name, (0, 0))
            file.seek(start)
            digest.update(file.read(end - start))
    tokens = header.metadata.get("tokenizer.ggml.tokens")
    count = tokens.count if isinstance(tokens, Items) else 0
    ends = [header.metadata.get(f"tokenizer.ggml.{name}_token_id") for name in ("eos", "eot")]
    template = header.metadata.get("tokenizer.chat_template")
    return Tokenizer(
        vocab_size=count,
        tokenizer_tokens=count,
        tokenizer_sha=digest.hexdigest(),
        stop_tokens=tuple(end for end in ends if isinstance(end, int)),
        template_sha=sha256(template.encode()).hexdigest() if isinstance(template, str) else None,
    )


def read_top_k(
    base: Model,
    candidate: Model,
    text: Text,
    *,
    kv_type: str = "f16",
    on_progress: Callable[[str], None] | None = None,
) -> TopK:
    """`kv_type` is the candidate's; the baseline's is f16.

    Two servers side by side would fight for the cores, so the baseline's lists are all read first, then kept."""
    each = min(text.window_positions, max(1, MOST_POSITIONS // len(text.documents)))
    tell = on_progress or (lambda _: None)
    windows: list[list[int]] = []
    lists: dict[str, list[LogProbs]] = {}
    for which, model, kept_as in (("baseline", base, "f16"), ("candidate", candidate, kv_type)):
        settings = LlamaCppSettings(context_per_slot=max(256, each + 8), kv_type=kept_as)
        with LlamaCpp().launch(model.path, settings) as server:
            if not windows:
                windows = [_tokens(server.base_url, document.text)[: each + 1] for document in text.documents]
            seen = []
            for found in _lists(server.base_url, windows):
                seen.append(found)
                tell(f"{len(seen):,} positions of the {which}")
            lists[which] = seen
    pairs = [lower_and_estimate(p, q) for p, q in zip(lists["baseline"], lists["candidate"], strict=True)]
    same = [_best(p) == _best(q) for p, q in zip(lists["baseline"], lists["candidate"], strict=True)]
    sizes = [len(window) - 1 for window in windows]
    return TopK(
        document=np.repeat(np.arange(len(windows)), sizes),
        lower=np.array([low for low, _ in pairs]),
        estimate=np.array([near for _, near in pairs]),
        same_top=np.array(same, dtype=np.float64),
    )


def _best(found: LogProbs) -> int:
    return max(found, key=lambda token: found[token])


def _lists(url: str, windows: Sequence[Sequence[int]]) -> Iterator[LogProbs]:
    """The server keeps the prompt so far, so each position costs one token's decoding."""
    for window in windows:
        for length in range(1, len(window)):
            body = {"prompt": window[:length], "n_predict": 1, "n_probs": TOP, "temperature": 0, "cache_prompt": True}
            said = _ask(url, "/completion", body)
            try:
                best = said["completion_probabilities"][0]["top_logprobs"]
                # A NaN is null in JSON: it must stay visible.
                yield {int(b["id"]): math.nan if b["logprob"] is None else float(b["logprob"]) for b in best}
            except (KeyError, IndexError, TypeError, ValueError) as error:
                raise EngineError("the engine's server does not give the probabilities of tokens; update it") from error


def _tokens(url: str, text: str) -> list[int]:
    tokens = _ask(url, "/tokenize", {"content": text, "add_special": True}).get("tokens")
    if not isinstance(tokens, list) or not all(isinstance(token, int) for token in tokens):
        raise EngineError("the engine's server does not tokenise text; update it")
    return tokens


def _ask(url: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    try:
        status, _, data = exchange(url + path, body, timeout_s=_TIMEOUT_S)
        said = json.loads(data)
    except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
        raise EngineError(f"the engine's server did not answer {path} ({type(error).__name__})") from error
    if status != 200 or not isinstance(said, dict):
        raise EngineError(f"the engine's server answered {path} with HTTP {status}")
    return said
