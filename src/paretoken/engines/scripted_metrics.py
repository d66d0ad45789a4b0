"""The /metrics of a scripted engine, in vLLM's dialect: what it counted of its own streamed answers.

Enters one finished answer after another; leaves Prometheus' text. It may lie as a script's usage may: everything that
it counts is then twice the truth, and every time twice as long.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

_BOUNDS_S = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)


@dataclass(slots=True)
class _Histogram:
    count: int = 0
    sum_s: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(_BOUNDS_S) + 1))

    def observe(self, seconds: float) -> None:
        self.count += 1
        self.sum_s += seconds
        self.buckets[bisect_left(_BOUNDS_S, seconds)] += 1


class Counted:
    def __init__(self, lie: bool) -> None:
        self._factor = 2 if lie else 1
        self._prompt_tokens = self._output_tokens = 0
        self._requests = 0
        self._histograms = {
            name: _Histogram()
            for name in ("time_to_first_token_seconds", "inter_token_latency_seconds", "e2e_request_latency_seconds")
        }

    def answered(
        self, prompt_tokens: int, output_tokens: int, began_s: float, chunk_s: Sequence[float], end_s: float
    ) -> None:
        """Moments on one clock; `chunk_s` are those of its chunks."""
        factor = self._factor
        self._requests += factor
        self._prompt_tokens += factor * prompt_tokens
        self._output_tokens += factor * output_tokens
        ttft, itl, e2e = self._histograms.values()
        e2e.observe(factor * (end_s - began_s))
        if chunk_s:
            ttft.observe(factor * (chunk_s[0] - began_s))
        for earlier, later in pairwise(chunk_s):
            itl.observe(factor * (later - earlier))

    def page(self, model: str, running: int) -> str:
        label = f'model_name="{model}"'
        lines = [
            "# TYPE vllm:num_requests_running gauge",
            f"vllm:num_requests_running{{{label}}} {running}",
            "# TYPE vllm:request_success_total counter",
            f'vllm:request_success_total{{finished_reason="length",{label}}} {self._requests}',
            "# TYPE vllm:prompt_tokens_total counter",
            f"vllm:prompt_tokens_total{{{label}}} {self._prompt_tokens}",
            "# TYPE vllm:generation_tokens_total counter",
            f"vllm:generation_tokens_total{{{label}}} {self._output_tokens}",
        ]
        for name, found in self._histograms.items():
            lines.append(f"# TYPE vllm:{name} histogram")
            reached = 0
            for bound, count in zip((*map(str, _BOUNDS_S), "+Inf"), found.buckets, strict=True):
                reached += count
                lines.append(f'vllm:{name}_bucket{{le="{bound}",{label}}} {reached}')
            lines += [f"vllm:{name}_count{{{label}}} {found.count}", f"vllm:{name}_sum{{{label}}} {found.sum_s!r}"]
        return "\n".join(lines) + "\n"
