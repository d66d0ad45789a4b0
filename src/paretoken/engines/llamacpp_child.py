"""The program that is the llamacpp engine: one xllamacpp server for the life of one process.

Enters, on stdin, resolved settings, the model's path and where to listen; leaves its URL on the report pipe. It ends by
SIGTERM, for which it keeps the default action: nothing here is worth saving.
"""

import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from paretoken.engines.child import KEY_VARIABLE, orders, report_url

_QUIET = 1  # errors only


def params_of(given: Mapping[str, Any]) -> Any:
    """Orders → xllamacpp.CommonParams. What is not set here stays the engine's default."""
    import xllamacpp

    settings = given["settings"]
    p = xllamacpp.CommonParams()
    p.model.path = given["model"]
    p.model_alias = {given["model_name"]}
    p.hostnames = [given["host"]]
    p.port = given["port"]
    if key := os.environ.get(KEY_VARIABLE):
        p.api_keys = [key]
    p.ui = False
    p.verbosity = _QUIET
    p.endpoint_metrics = True
    p.warmup = True
    p.cpuparams.n_threads = settings["threads"]
    p.cpuparams_batch.n_threads = settings["batch_threads"]
    p.n_parallel = settings["slots"]
    p.n_ctx = given["context_total"]
    p.kv_unified = False  # a slot has what it was promised, and one overflowing slot cannot take the others with it
    p.n_batch = settings["batch"]
    p.n_ubatch = settings["ubatch"]
    p.flash_attn_type = {
        "auto": xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_AUTO,
        "on": xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED,
        "off": xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED,
    }[settings["flash_attention"]]
    p.cache_type_k = p.cache_type_v = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{settings['kv_type'].upper()}")
    if not settings["prompt_cache"]:
        p.cache_prompt = False
        p.cache_ram_mib = 0
    if settings["speculation"] != "none":
        name = settings["speculation"].upper().replace("-", "_")
        p.speculative.types = [getattr(xllamacpp.common_speculative_type, f"COMMON_SPECULATIVE_TYPE_{name}")]
    if given["chain"] is not None:
        p.sampling.samplers = ";".join(given["chain"])
    return p


def main() -> None:
    import xllamacpp

    try:
        server = xllamacpp.Server(params_of(orders()))  # returns when it listens and the model is loaded
    except RuntimeError as error:
        sys.exit(f"llama.cpp did not start: {error}")  # why, it has just said in the log
    report_url(server.listening_address)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
