"""What one can switch on. A technique's folder is decided by its claim: `model/` may change which tokens come,
`service/` only when they come. `TECHNIQUES` is the map."""

from paretoken.plugins import Registry

TECHNIQUES = Registry(
    "technique",
    {
        "batching": "paretoken.techniques.service.batching:Batching",
        "flash_attention": "paretoken.techniques.service.flash_attention:FlashAttention",
        "kv_cache": "paretoken.techniques.model.kv_cache:KvCache",
        "prefill_chunk": "paretoken.techniques.service.prefill_chunk:PrefillChunk",
        "prompt_cache": "paretoken.techniques.service.prompt_cache:PromptCache",
        "quantize": "paretoken.techniques.model.quantize:Quantize",
        "replicas": "paretoken.techniques.service.replicas:Replicas",
        "samplers": "paretoken.techniques.service.samplers:Samplers",
        "speculate": "paretoken.techniques.service.speculate:Speculate",
        "threads": "paretoken.techniques.service.threads:Threads",
    },
)
