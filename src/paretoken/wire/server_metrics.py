"""What the metrics of known servers are called, and which of our words each stands for.

Enters a Page; leaves the Dialect that it speaks, if it is known. A table: the names are the servers' own, older ones
after newer ones. `tried` says whether the developers read this dialect from the real server; the others come from the
servers' documentation and are tested on pages written by hand.
"""

from dataclasses import dataclass

from paretoken.wire.prometheus import Labels, Page

COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """`scale` turns the server's unit into ours; `where` are labels that the samples must carry."""

    name: str  # ours
    kind: str
    unit: str  # requests | tokens | s | share | steps | events
    names: tuple[str, ...]  # the server's, the newest first; the first that a page has is taken
    scale: float = 1.0
    where: Labels = ()


@dataclass(frozen=True, slots=True)
class Dialect:
    name: str
    tried: bool
    metrics: tuple[Metric, ...]
    needs: str = ""  # how the server is made to show them


def _counter(name: str, unit: str, *names: str, scale: float = 1.0, where: Labels = ()) -> Metric:
    return Metric(name, COUNTER, unit, names, scale, where)


def _gauge(name: str, unit: str, *names: str, scale: float = 1.0) -> Metric:
    return Metric(name, GAUGE, unit, names, scale)


def _histogram(name: str, *names: str, scale: float = 1.0, where: Labels = ()) -> Metric:
    return Metric(name, HISTOGRAM, "s", names, scale, where)


# prompt_tokens are all of a prompt's, prompt_tokens_computed those that no cache gave. `prefill` and `decode` are the
# times of single requests, added up; `itl` is between two tokens of one request.
DIALECTS = (
    Dialect(
        "vllm",
        tried=False,
        metrics=(
            _counter("requests", "requests", "vllm:request_success_total"),
            _counter("prompt_tokens", "tokens", "vllm:prompt_tokens_total"),
            _counter("output_tokens", "tokens", "vllm:generation_tokens_total"),
            _counter(
                "prefix_cache_queries",
                "tokens",
                "vllm:prefix_cache_queries_total",
                "vllm:gpu_prefix_cache_queries_total",
            ),
            _counter("prefix_cache_hits", "tokens", "vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"),
            _counter("preemptions", "events", "vllm:num_preemptions_total"),
            _counter("drafted_tokens", "tokens", "vllm:spec_decode_num_draft_tokens_total"),
            _counter("accepted_tokens", "tokens", "vllm:spec_decode_num_accepted_tokens_total"),
            _gauge("running", "requests", "vllm:num_requests_running"),
            _gauge("waiting", "requests", "vllm:num_requests_waiting"),
            _gauge("kv_used", "share", "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
            _histogram("ttft", "vllm:time_to_first_token_seconds"),
            _histogram("itl", "vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"),
            _histogram("tpot", "vllm:request_time_per_output_token_seconds"),
            _histogram("e2e", "vllm:e2e_request_latency_seconds"),
            _histogram("queue", "vllm:request_queue_time_seconds"),
            _histogram("prefill", "vllm:request_prefill_time_seconds"),
            _histogram("decode", "vllm:request_decode_time_seconds"),
        ),
    ),
    Dialect(
        "sglang",
        tried=False,
        needs="--enable-metrics",
        metrics=(
            _counter("requests", "requests", "sglang:num_requests_total", "sglang:e2e_request_latency_seconds_count"),
            _counter("requests_aborted", "requests", "sglang:num_aborted_requests_total"),
            _counter("prompt_tokens", "tokens", "sglang:prompt_tokens_total"),
            _counter("output_tokens", "tokens", "sglang:generation_tokens_total"),
            _counter("cached_tokens", "tokens", "sglang:cached_tokens_total"),
            _gauge("running", "requests", "sglang:num_running_reqs"),
            _gauge("waiting", "requests", "sglang:num_queue_reqs"),
            _gauge("kv_used", "share", "sglang:token_usage"),
            _histogram("ttft", "sglang:time_to_first_token_seconds"),
            _histogram("itl", "sglang:inter_token_latency_seconds"),
            _histogram("tpot", "sglang:time_per_output_token_seconds"),
            _histogram("e2e", "sglang:e2e_request_latency_seconds"),
            _histogram("queue", "sglang:queue_time_seconds"),
        ),
    ),
    Dialect(
        "llama.cpp",
        tried=True,
        needs="--metrics",
        metrics=(
            _counter("prompt_tokens_computed", "tokens", "llamacpp:prompt_tokens_total"),
            _counter("cached_tokens", "tokens", "llamacpp:prompt_tokens_cached_total"),
            _counter("output_tokens", "tokens", "llamacpp:tokens_predicted_total"),
            _counter("prefill", "s", "llamacpp:prompt_seconds_total"),
            _counter("decode", "s", "llamacpp:tokens_predicted_seconds_total"),
            _counter("steps", "steps", "llamacpp:n_decode_total"),
            _counter("drafted_tokens", "tokens", "llamacpp:spec_decode_num_draft_tokens_total"),
            _counter("accepted_tokens", "tokens", "llamacpp:spec_decode_num_accepted_tokens_total"),
            _gauge("running", "requests", "llamacpp:requests_processing"),
            _gauge("waiting", "requests", "llamacpp:requests_deferred"),
            _gauge("kv_used", "share", "llamacpp:kv_cache_usage_ratio"),
        ),
    ),
    Dialect(
        "tgi",
        tried=False,
        metrics=(
            _counter("requests", "requests", "tgi_request_success"),
            _counter("requests_failed", "requests", "tgi_request_failure"),
            _counter("prompt_tokens", "tokens", "tgi_request_input_length_sum"),
            _counter("output_tokens", "tokens", "tgi_request_generated_tokens_sum"),
            _gauge("running", "requests", "tgi_batch_current_size"),
            _gauge("waiting", "requests", "tgi_queue_size"),
            _histogram("per_token_with_prefill", "tgi_request_mean_time_per_token_duration"),
            _histogram("e2e", "tgi_request_duration"),
            _histogram("queue", "tgi_request_queue_duration"),
            _histogram("step_prefill", "tgi_batch_inference_duration", where=(("method", "prefill"),)),
            _histogram("step_decode", "tgi_batch_inference_duration", where=(("method", "decode"),)),
        ),
    ),
    Dialect(
        "triton",
        tried=False,
        needs="its metrics on the same port as the requests",
        metrics=(
            _counter("requests", "requests", "nv_inference_request_success"),
            _counter("requests_failed", "requests", "nv_inference_request_failure"),
            _counter("inferences", "events", "nv_inference_count"),
            _counter("steps", "steps", "nv_inference_exec_count"),
            _counter("e2e", "s", "nv_inference_request_duration_us", scale=1e-6),
            _counter("queue", "s", "nv_inference_queue_duration_us", scale=1e-6),
            _counter("compute", "s", "nv_inference_compute_infer_duration_us", scale=1e-6),
            _gauge("waiting", "requests", "nv_inference_pending_request_count"),
            _histogram("ttft", "nv_inference_first_response_histogram_ms", scale=1e-3),
        ),
    ),
)


def dialect_of(page: Page) -> Dialect | None:
    """The one of whose metrics the page has most; None where it has none of any."""
    found = [(sum(_present(page, metric) for metric in dialect.metrics), dialect) for dialect in DIALECTS]
    count, dialect = max(found, key=lambda pair: pair[0])
    return dialect if count else None


def name_in(page: Page, metric: Metric) -> str | None:
    """What the page calls it."""
    for name in metric.names:
        if page.series(f"{name}_count" if metric.kind == HISTOGRAM else name, metric.where):
            return name
    return None


def _present(page: Page, metric: Metric) -> bool:
    return name_in(page, metric) is not None
