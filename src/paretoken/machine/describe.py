"""What this machine is, as plain data for provenance and keys.

Leaves: CPU model, the flags that matter to inference, cores, quota, memory, kernel, Python, and a fingerprint. Tells
nothing of who owns it: no host name, no user, no path.
"""

import hashlib
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from paretoken.machine.quota import affinity_cores, cpu_quota, quota_cores, visible_cores

# Instructions that decide how fast matrices are multiplied: a model may run several times slower without them.
FLAGS = (
    *("avx", "avx2", "fma", "f16c", "avx_vnni"),
    *("avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16"),
    *("amx_tile", "amx_int8", "amx_bf16"),
    *("neon", "asimd", "asimddp", "asimdhp", "i8mm", "bf16", "sve", "sve2", "sme"),
)
GIB = 2**30


def cpu_from(cpuinfo: str) -> tuple[str | None, list[str]]:
    """Model name and known flags from the text of /proc/cpuinfo (x86: 'model name', 'flags'; Arm: 'Features')."""
    fields: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    present = set((fields.get("flags") or fields.get("Features") or "").split())
    return fields.get("model name") or None, [flag for flag in FLAGS if flag in present]


def memory_from(meminfo: str) -> int | None:
    """Total bytes from the text of /proc/meminfo."""
    for line in meminfo.splitlines():
        name, _, value = line.partition(":")
        if name == "MemTotal" and value.split():
            return int(value.split()[0]) * 1024
    return None


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # not Linux


def _sysctl(name: str) -> str | None:
    """One value of macOS; None elsewhere."""
    if platform.system() != "Darwin":
        return None
    done = subprocess.run(["/usr/sbin/sysctl", "-n", name], capture_output=True, text=True, timeout=5, check=False)
    return done.stdout.strip() or None


def _memory_bytes() -> int | None:
    found = memory_from(_text("/proc/meminfo"))
    if found is None and "SC_PHYS_PAGES" in os.sysconf_names:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return found


def describe() -> dict[str, Any]:
    """JSON of this machine, with its `fingerprint`."""
    model, flags = cpu_from(_text("/proc/cpuinfo"))
    quota = quota_cores()
    found: dict[str, Any] = {
        "cpu": model or _sysctl("machdep.cpu.brand_string") or platform.processor() or platform.machine(),
        "architecture": platform.machine(),
        "flags": flags,
        "logical_cores": visible_cores(),
        "affinity_cores": affinity_cores(),
        "quota_cores": None if quota is None else round(quota, 3),
        "threads": cpu_quota(),
        "memory_bytes": _memory_bytes(),
        "system": platform.system(),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }
    return {**found, "fingerprint": machine_fingerprint(found)}


def machine_fingerprint(description: dict[str, Any]) -> str:
    """SHA-256 over what the hardware is. Memory counts in whole GiB, since the kernel keeps a varying bit for itself;
    kernel and Python versions are described, but a patched kernel is not another machine."""
    names = ("cpu", "architecture", "flags", "logical_cores", "threads", "system")
    memory = description["memory_bytes"]
    what = {name: description[name] for name in names} | {"memory_gib": None if memory is None else round(memory / GIB)}
    return hashlib.sha256(json.dumps(what, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
