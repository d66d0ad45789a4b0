"""Our definitions, as data: each result states them, docs/definitions.md shows them, and tests hold both to the code.

Enters nothing; leaves names, formulas and notes. `digest()` tells whether two results may be compared.
"""

from dataclasses import dataclass

from paretoken.core.candidate import digest_of


@dataclass(frozen=True, slots=True)
class Definition:
    formula: str
    notes: str = ""


PERCENTILES = (
    "linear (type 7), pooled over requests, never averaged; "
    "p99 needs n ≥ 100 and p99.9 n ≥ 1000, else null with the reason"
)
INTERVALS = (
    "95 %; quantiles by exact binomial order statistics (an end that n does not carry is null with the reason; "
    "samples of one request or session count as fewer: effective n after Korn and Graubard); "
    "means and ratios by bootstrap over requests (sessions when multi-turn), rates over blocks of time; "
    "rates of several runs of one candidate by Student's t over the runs"
)

DEFINITIONS: dict[str, Definition] = {
    "ttft": Definition(
        "first content chunk − sent", "content, reasoning, refusal and tool calls count; a role-only chunk does not"
    ),
    "ttfa": Definition("first answer (content/text) chunk − sent", "for reasoning models"),
    "ttft_from_due": Definition(
        "first content chunk − due",
        "what a user feels; `ttft` in an SLO means this one. In a closed loop due is the moment the slot became free, "
        "plus the think time",
    ),
    "lateness": Definition(
        "started − due",
        "our own error; started is the first connect call, or the first byte on an open connection; above 10 ms at p99 "
        "the run is flagged",
    ),
    "connect": Definition("connection ready − first connect call", "TCP, proxy and TLS; null when reused"),
    "e2e": Definition("end marker (else finish_reason) − sent"),
    "tpot": Definition(
        "(t_last − t_first)/(N − n₁)",
        "N from the server's usage, n₁ tokens in the first chunk (1 if unknown); null when N ≤ n₁ or N unknown",
    ),
    "itl": Definition("gaps between neighbouring content chunks", "one sample a gap, pooled over requests"),
    "itl_per_token": Definition(
        "gap/k repeated k times, the first chunk's tokens left out", "only if every chunk's token count is known"
    ),
    "output_tokens": Definition(
        "last positive completion_tokens or eval_count", "mean over answered requests; null if never given"
    ),
    "input_tokens": Definition("prompt_tokens as the server counts them", "mean over answered requests"),
    "output_tok_s": Definition(
        "tokens arrived inside the steady window / its length",
        "a request that straddles the edge gives the part inside; without counts per chunk: one token in the first "
        "chunk, the rest spread evenly; failed requests give nothing",
    ),
    "total_tok_s": Definition(
        "input + output tokens inside the steady window / its length", "input counted at the first content chunk"
    ),
    "tok_s_per_user": Definition("1/tpot", "at the median tpot"),
    "req_s": Definition("(completions − 1)/(last − first completion) inside the steady window", "what is sustained"),
    "full_window_req_s": Definition("completions/(last end − first sent)", "with filling and draining"),
    "error_rate": Definition("(failed + lost)/attempted", "attempted: scheduled, not cancelled, without the warm-up"),
    "goodput_share": Definition(
        "attempted requests that met every SLO / attempted",
        "failed, truncated and lost requests are not good; a missing metric is not good",
    ),
    "goodput_req_s": Definition("good requests / stated duration", "without a stated duration: the run's own length"),
    "cost_per_mtok": Definition(
        "price per hour ÷ (tok/s·3600) × 10⁶", "denominator named: output, input, total or good tokens"
    ),
    "machine_s_per_mtok": Definition("10⁶ ÷ tok/s", "the cost when no price is given"),
    "mbu": Definition(
        "(weight bytes read per step + KV bytes read per step) / step time / measured bandwidth",
        "steps, not tokens, when batched or speculative; MoE: experts touched; above 100 % is an error",
    ),
    "mfu": Definition(
        "(2·active parameters + attention)·tokens/s / measured FLOP/s",
        "decode's share; that of the prompts' tokens is `mfu_prefill`, over the same time; above 100 % is an error",
    ),
    "wait": Definition(
        "t·n beside ttft + tpot·(n−1)", "with residuals against the measured e2e; medians over answered requests"
    ),
    "window": Definition(
        "closed loop: from the moment all slots are busy with measured requests to the first moment a slot has nothing "
        "more to send; open loop: from the first answer's end to the last arrival",
        "the whole run where that leaves fewer than two completions, and it says so",
    ),
}


def definitions_json() -> dict[str, str]:
    """The `definitions` block of a result."""
    block = {name: f"{d.formula} ({d.notes})" if d.notes else d.formula for name, d in DEFINITIONS.items()}
    return {**block, "percentiles": PERCENTILES, "intervals": INTERVALS}


def digest() -> str:
    """Equal for two results that mean the same by the same names."""
    return digest_of(definitions_json())


def as_markdown() -> str:
    """The table of docs/definitions.md."""
    rows = [f"| `{name}` | {d.formula} | {d.notes} |" for name, d in DEFINITIONS.items()]
    return "\n".join(["| name | formula | notes |", "|---|---|---|", *rows]) + "\n"
