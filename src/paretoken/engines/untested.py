"""Engines that we know of and have never run: a table, not adapters. One can measure them as endpoints today.

From their documentation; nothing here was tried by the developers.
"""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class UntestedEngine:
    name: str
    start: str  # how people start it
    slots_flag: str  # what decides how many requests are decoded together
    health_path: str
    protocol: str  # a name in wire.PROTOCOLS

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "tested": False}


UNTESTED = (
    UntestedEngine("vllm", "vllm serve MODEL --port 8000", "--max-num-seqs", "/health", "openai-chat-sse"),
    UntestedEngine(
        "sglang",
        "python -m sglang.launch_server --model-path MODEL --port 30000",
        "--max-running-requests",
        "/health",
        "openai-chat-sse",
    ),
    UntestedEngine(
        "llama-server", "llama-server --model FILE.gguf --port 8080", "--parallel", "/health", "openai-chat-sse"
    ),
    UntestedEngine("ollama", "ollama serve", "OLLAMA_NUM_PARALLEL", "/api/version", "ollama-ndjson"),
    UntestedEngine("tensorrt-llm", "trtllm-serve MODEL --port 8000", "--max_batch_size", "/health", "openai-chat-sse"),
    UntestedEngine(
        "text-generation-inference",
        "text-generation-launcher --model-id MODEL --port 8080",
        "--max-concurrent-requests",
        "/health",
        "openai-chat-sse",
    ),
)
