"""All figures of a run, or of several runs of one candidate, in the shape that results are stored in.

Enter: records, the load, and if given an SLO and a price. Leaves: a Summary whose `as_json` is the `metrics`,
`requests` and `errors` of a result: strictly valid JSON, null with a reason where something is not known. Whether the
figures deserve belief is another question (verification/validity.py).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paretoken.core.objective import Load
from paretoken.core.record import OUTCOMES, Record
from paretoken.metrics.bootstrap import mean_interval, too_few
from paretoken.metrics.cost import Price, cost_of
from paretoken.metrics.figures import Distribution, Scalar
from paretoken.metrics.goodput import Slo, attempted, good, goodput_req_s, goodput_share, share
from paretoken.metrics.latency import answered, distributions, measured, run_length_s
from paretoken.metrics.quantiles import Floats
from paretoken.metrics.student import t_quantile
from paretoken.metrics.throughput import (
    Window,
    block_edges,
    full_window_req_s,
    input_tokens_in_blocks,
    rate,
    req_s,
    steady_window,
    tokens_in_blocks,
)
from paretoken.metrics.wait import waits_json

FEWEST_RUNS = 3  # below, a t interval over runs says nothing


@dataclass(frozen=True, slots=True)
class Summary:
    """`distributions` and `scalars` by the names of docs/definitions.md, without units. `windows` has one a run."""

    distributions: Mapping[str, Distribution]
    scalars: Mapping[str, Scalar]
    costs: Mapping[str, Scalar]  # by denominator: output, input, total, good
    price: Price | None
    slo: Slo | None
    requests: Mapping[str, int]
    errors: Mapping[str, int]
    windows: tuple[Window | None, ...]
    wait: Mapping[str, Any]

    def without_headlines(self, why: str) -> "Summary":
        """The same without any figure that the client's own slowness may have made. What it did stays: its lateness,
        how many requests there were, and what became of them."""
        own = ("lateness", "connect")
        kept = ("error_rate", "output_tokens", "input_tokens")
        return replace(
            self,
            distributions={
                name: found if name in own else Distribution.unknown(why) for name, found in self.distributions.items()
            },
            scalars={name: found if name in kept else Scalar.unknown(why) for name, found in self.scalars.items()},
            costs={name: Scalar.unknown(why) for name in self.costs},
            wait={"n": 0, "reason": why},
        )

    def as_json(self) -> dict[str, Any]:
        costs: dict[str, Any] = {name: cost.as_json() for name, cost in self.costs.items()}
        if self.price is not None:
            costs |= self.price.as_json()
        windows = [None if window is None else window.as_json() for window in self.windows]
        return {
            "metrics": {
                **{f"{name}_ms": found.as_json() for name, found in self.distributions.items()},
                **{name: found.as_json() for name, found in self.scalars.items()},
                "machine_s_per_mtok" if self.price is None else "cost_per_mtok": costs,
                "wait": dict(self.wait),
                "window": windows[0] if len(windows) == 1 else windows,
                "slo": None if self.slo is None else self.slo.as_json(),
            },
            "requests": dict(self.requests),
            "errors": dict(self.errors),
        }


@dataclass(frozen=True, slots=True)
class _Terms:
    """What does not come from the records."""

    slo: Slo | None
    price: Price | None
    error_bound_s: float | None
    seed: int


def summarise(
    records: Sequence[Record],
    *,
    load: Load,
    window: Window | None = None,
    duration_s: float | None = None,
    slo: Slo | None = None,
    price: Price | None = None,
    error_bound_s: float | None = None,
    seed: int = 0,
) -> Summary:
    """One run. `window` overrides the steady window; `duration_s` is the stated duration (for goodput);
    `error_bound_s` is the calibrated error of a span."""
    terms = _Terms(slo, price, error_bound_s, seed)
    found = steady_window(records, load) if window is None else window
    return _summary([records], [found], _rates(records, found, terms), duration_s, terms)


def pooled(
    blocks: Sequence[Sequence[Record]],
    *,
    load: Load,
    slo: Slo | None = None,
    price: Price | None = None,
    error_bound_s: float | None = None,
    seed: int = 0,
) -> Summary:
    """Several runs of one candidate. Samples are pooled (percentiles are never averaged); a rate is the mean over the
    runs, so that the ratio of two candidates' rates is the effect of decision rule 4; its interval is Student's."""
    if not blocks:
        raise ValueError("pooled needs at least one run")
    terms = _Terms(slo, price, error_bound_s, seed)
    windows = [steady_window(block, load) for block in blocks]
    each = [_rates(block, window, terms) for block, window in zip(blocks, windows, strict=True)]
    rates = {name: _over_runs([found[name] for found in each]) for name in each[0]}
    return _summary(blocks, windows, rates, None, terms)


def _summary(
    blocks: Sequence[Sequence[Record]],
    windows: Sequence[Window | None],
    rates: Mapping[str, Scalar],
    duration_s: float | None,
    terms: _Terms,
) -> Summary:
    everything = [record for block in blocks for record in block]
    spans = distributions(blocks, error_bound_s=terms.error_bound_s, seed=terms.seed)
    goods = goodput_share(blocks, terms.slo, terms.seed)
    length = sum(run_length_s(measured(block)) for block in blocks) if duration_s is None else duration_s
    tried = [attempted(block) for block in blocks]
    scalars = {name: found for name, found in rates.items() if name not in ("input_tok_s", "good_tok_s")}
    scalars |= {
        "tok_s_per_user": _per_user(spans["tpot"]),
        "goodput_share": goods,
        "goodput_req_s": goodput_req_s(goods, sum(map(len, tried)), length),
        "error_rate": share(tried, lambda record: record.outcome != "ok", terms.seed),
        "output_tokens": _mean(everything, lambda r: r.reply.output_tokens, "usage", terms.seed),
        "input_tokens": _mean(everything, lambda r: r.reply.prompt_tokens, "a prompt token count", terms.seed),
    }
    return Summary(
        distributions=spans,
        scalars=scalars,
        costs={of: cost_of(rates[f"{of}_tok_s"], terms.price) for of in ("output", "input", "total", "good")},
        price=terms.price,
        slo=terms.slo,
        requests=counts(everything),
        errors=errors_by_class(everything),
        windows=tuple(windows),
        wait=waits_json(everything),
    )


def _rates(records: Sequence[Record], window: Window | None, terms: _Terms) -> dict[str, Scalar]:
    """Everything that has a window, of one run."""
    names = ("output_tok_s", "input_tok_s", "total_tok_s", "good_tok_s", "req_s", "full_window_req_s")
    if window is None or not answered(records):
        nothing = Scalar(0.0, None, {"ci95": "no request was answered"})
        return dict.fromkeys(names, nothing)
    edges, seed = block_edges(records, window), terms.seed
    n = len(answered(records))

    def token_rate(totals: Floats, uncounted: int, what: str = "usage") -> Scalar:
        return rate(totals, window, uncounted, n, seed, what)

    out, out_uncounted = tokens_in_blocks(records, edges)
    into, in_uncounted = input_tokens_in_blocks(records, edges)
    good_tokens = Scalar.unknown("no SLO was stated")
    if terms.slo is not None:
        good_tokens = token_rate(*tokens_in_blocks(good(records, terms.slo), edges))
    return {
        "output_tok_s": token_rate(out, out_uncounted),
        "input_tok_s": token_rate(into, in_uncounted, "a prompt token count"),
        "total_tok_s": token_rate(out + into, max(out_uncounted, in_uncounted), "both token counts"),
        "good_tok_s": good_tokens,
        "req_s": req_s(records, window, edges, seed),
        "full_window_req_s": full_window_req_s(records),
    }


def _over_runs(each: Sequence[Scalar]) -> Scalar:
    """The mean over runs, with a t interval over them; unknown when one run does not know."""
    missing = next((found for found in each if found.value is None), None)
    if missing is not None:
        return Scalar(None, None, dict(missing.reasons))
    values = np.array([found.value for found in each], dtype=np.float64)
    n = len(values)
    mean = float(values.mean())
    if n < FEWEST_RUNS:
        return Scalar(mean, None, {"ci95": f"n={n}: an interval over runs needs {FEWEST_RUNS}"})
    half = t_quantile(0.95, n - 1) * float(values.std(ddof=1)) / n**0.5
    return Scalar(mean, (mean - half, mean + half))


def _per_user(tpot: Distribution) -> Scalar:
    middle = tpot.p50
    if middle is None or middle <= 0:
        return Scalar.unknown(tpot.reasons.get("p50", "the median tpot is zero"))
    low, high = tpot.ci95.get("p50") or (None, None)
    if not low or not high:
        return Scalar(1 / middle, None, {"ci95": tpot.reasons.get("p50", "the interval of tpot reaches zero")})
    return Scalar(1 / middle, (1 / high, 1 / low))


def _mean(records: Sequence[Record], value: Callable[[Record], int | None], what: str, seed: int) -> Scalar:
    ok = answered(records)
    known = [found for record in ok if (found := value(record)) is not None]
    if not known:
        return Scalar.unknown(f"no answer came with {what}" if ok else "no request was answered")
    values = np.array(known, dtype=np.float64)
    interval = mean_interval(values, seed)
    reasons = {} if interval is not None else {"ci95": too_few(len(known), "requests")}
    if len(known) < len(ok):
        reasons["value"] = f"{len(ok) - len(known)} of {len(ok)} answers came without {what}"
    return Scalar(float(values.mean()), interval, reasons)


def counts(records: Sequence[Record]) -> dict[str, int]:
    """scheduled = ok + failed + cancelled + lost, without the warm-up."""
    found = Counter(record.outcome for record in measured(records))
    return {"scheduled": found.total(), **{outcome: found[outcome] for outcome in OUTCOMES}}


def errors_by_class(records: Sequence[Record]) -> dict[str, int]:
    """'http_status 503' → how many; the most frequent first. An HTTP class carries its status."""
    found: Counter[str] = Counter()
    for record in measured(records):
        if record.outcome == "ok":
            continue
        name = record.outcome if record.outcome in ("cancelled", "lost") else record.reply.error or record.outcome
        found[f"{name} {record.reply.status}" if name == "http_status" else name] += 1
    return dict(found.most_common())
