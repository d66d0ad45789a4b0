"""Pages of /metrics for tests. llama.cpp's has the lines that the real server writes; the others are written by hand
after the servers' documentation."""


def histogram(name: str, labels: str, bounds: dict[str, int], total: float) -> str:
    comma = "," if labels else ""
    count = max(bounds.values())
    braces = f"{{{labels}}}" if labels else ""
    lines = [f'{name}_bucket{{{labels}{comma}le="{bound}"}} {value}' for bound, value in bounds.items()]
    return "\n".join(
        [f"# TYPE {name} histogram", *lines, f"{name}_sum{braces} {total}", f"{name}_count{braces} {count}"]
    )


_VLLM = 'engine="0",model_name="m"'
VLLM = "\n".join(
    [
        "# HELP python_info Python platform information",
        'python_info{implementation="CPython",version="3.12.9"} 1.0',
        "process_start_time_seconds 1.7e+09",
        f"vllm:num_requests_running{{{_VLLM}}} 2.0",
        f"vllm:num_requests_waiting{{{_VLLM}}} 1.0",
        f"vllm:kv_cache_usage_perc{{{_VLLM}}} 0.125",
        f"vllm:prompt_tokens_total{{{_VLLM}}} 1000.0",
        f"vllm:generation_tokens_total{{{_VLLM}}} 400.0",
        f'vllm:request_success_total{{finished_reason="stop",{_VLLM}}} 4.0',
        f'vllm:request_success_total{{finished_reason="length",{_VLLM}}} 6.0',
        f"vllm:num_preemptions_total{{{_VLLM}}} 0.0",
        f"vllm:prefix_cache_queries_total{{{_VLLM}}} 1000.0",
        f"vllm:prefix_cache_hits_total{{{_VLLM}}} 640.0",
        histogram(
            "vllm:time_to_first_token_seconds", _VLLM, {"0.001": 0, "0.02": 4, "0.04": 9, "0.1": 10, "+Inf": 10}, 0.3
        ),
        histogram("vllm:inter_token_latency_seconds", _VLLM, {"0.01": 0, "0.025": 390, "+Inf": 390}, 5.85),
        histogram("vllm:e2e_request_latency_seconds", _VLLM, {"0.3": 0, "0.8": 9, "1.5": 10, "+Inf": 10}, 7.0),
        histogram("vllm:request_queue_time_seconds", _VLLM, {"0.3": 10, "+Inf": 10}, 0.01),
        "",
    ]
)

_SGLANG = 'model_name="m"'
SGLANG = "\n".join(
    [
        f"sglang:prompt_tokens_total{{{_SGLANG}}} 8.128902e+06",
        f"sglang:generation_tokens_total{{{_SGLANG}}} 7.557572e+06",
        f"sglang:cached_tokens_total{{{_SGLANG}}} 100.0",
        f"sglang:num_requests_total{{{_SGLANG}}} 11008.0",
        f"sglang:token_usage{{{_SGLANG}}} 0.28",
        f"sglang:num_running_reqs{{{_SGLANG}}} 162.0",
        f"sglang:num_queue_reqs{{{_SGLANG}}} 2826.0",
        histogram("sglang:time_to_first_token_seconds", _SGLANG, {"0.1": 2, "1.0": 10, "+Inf": 11008}, 2.35e6),
        histogram(
            "sglang:inter_token_latency_seconds", _SGLANG, {"0.01": 5, "0.1": 7400228, "+Inf": 7400228}, 866964.0
        ),
        histogram("sglang:e2e_request_latency_seconds", _SGLANG, {"1.0": 7, "+Inf": 11228}, 3.1e6),
        "",
    ]
)

LLAMA_CPP = """# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed, excluding cached tokens
# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 38
# TYPE llamacpp:prompt_tokens_cached_total counter
llamacpp:prompt_tokens_cached_total 25
llamacpp:prompt_seconds_total 0.377945
llamacpp:tokens_predicted_total 6
llamacpp:tokens_predicted_seconds_total 0.063022
llamacpp:n_decode_total 6
llamacpp:n_tokens_max 36
llamacpp:spec_decode_num_draft_tokens_total 0
llamacpp:spec_decode_num_accepted_tokens_total 0
llamacpp:prompt_tokens_seconds 84.2196
llamacpp:predicted_tokens_seconds 63.4709
llamacpp:requests_processing 0
llamacpp:requests_deferred 0
llamacpp:n_busy_slots_per_decode 1
"""

TGI = "\n".join(
    [
        "tgi_request_count{} 12",
        "tgi_request_success{} 10",
        'tgi_request_failure{err="overloaded"} 2',
        "tgi_queue_size 1",
        "tgi_batch_current_size 3",
        histogram("tgi_request_input_length", "", {"100": 4, "+Inf": 10}, 1500),
        histogram("tgi_request_generated_tokens", "", {"10": 1, "+Inf": 10}, 640),
        histogram("tgi_request_duration", "", {"0.1": 0, "1.0": 10, "+Inf": 10}, 6.4),
        histogram("tgi_request_queue_duration", "", {"0.1": 10, "+Inf": 10}, 0.02),
        histogram("tgi_request_mean_time_per_token_duration", "", {"0.1": 10, "+Inf": 10}, 0.1),
        histogram("tgi_batch_inference_duration", 'method="prefill"', {"0.1": 10, "+Inf": 10}, 0.4),
        histogram("tgi_batch_inference_duration", 'method="decode"', {"0.1": 630, "+Inf": 630}, 6.0),
        "",
    ]
)

_TRITON = 'model="m",version="1"'
TRITON = "\n".join(
    [
        f"nv_inference_request_success{{{_TRITON}}} 10",
        'nv_inference_request_failure{model="m",reason="OTHER",version="1"} 0',
        f"nv_inference_count{{{_TRITON}}} 10",
        f"nv_inference_exec_count{{{_TRITON}}} 4",
        f"nv_inference_request_duration_us{{{_TRITON}}} 5000000",
        f"nv_inference_queue_duration_us{{{_TRITON}}} 1000000",
        f"nv_inference_compute_infer_duration_us{{{_TRITON}}} 3900000",
        f"nv_inference_pending_request_count{{{_TRITON}}} 0",
        histogram("nv_inference_first_response_histogram_ms", _TRITON, {"100": 8, "500": 10, "+Inf": 10}, 700),
        'nv_gpu_power_usage{gpu_uuid="GPU-0"} 72.5',
        "",
    ]
)

PAGES = {"vllm": VLLM, "sglang": SGLANG, "llama.cpp": LLAMA_CPP, "tgi": TGI, "triton": TRITON}
