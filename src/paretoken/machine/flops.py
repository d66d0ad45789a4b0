"""How fast this machine multiplies matrices: float32 FLOP/s of numpy's BLAS on the quota's threads.

Runs in a child process, because a BLAS reads its environment once when it is loaded: there OPENBLAS_CORETYPE and
OPENBLAS_L2_SIZE are unset (meant for another machine, they slow it down) and the thread count is the quota's. The best
repetition counts. `python -m paretoken.machine.flops SECONDS` is that child; it prints one JSON object.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from paretoken.errors import ParetokenError

SIZE = 1536
FLOP_OF_ONE = 2 * SIZE**3
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
TIMEOUT_S = 60.0


def child_environment(environment: Mapping[str, str], threads: int) -> dict[str, str]:
    """Ours without what slows a BLAS, and with its thread count."""
    kept = {name: value for name, value in environment.items() if name not in UNSET}
    return kept | dict.fromkeys(THREAD_VARIABLES, str(threads))


def flops(threads: int, *, budget_s: float = 1.0) -> tuple[float, str]:
    """FLOP/s, and which BLAS it was. Raises ParetokenError when the child does not answer."""
    command = [sys.executable, "-P", "-m", "paretoken.machine.flops", str(budget_s)]
    try:
        done = subprocess.run(
            command,
            env=child_environment(os.environ, threads),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
        )
        answer = json.loads(done.stdout)
    except (subprocess.SubprocessError, OSError, ValueError, RecursionError) as error:
        raise ParetokenError(f"FLOP/s could not be measured: {error}; check that 'import numpy' works here") from error
    return float(answer["flop_s"]), str(answer["blas"])


def measure(budget_s: float) -> dict[str, Any]:
    """In the child: the best of repeated multiplications of two SIZE × SIZE float32 matrices."""
    import numpy as np

    random = np.random.default_rng(0)
    a, b = (random.random((SIZE, SIZE), dtype=np.float32) for _ in range(2))
    out = np.empty((SIZE, SIZE), dtype=np.float32)
    np.matmul(a, b, out=out)  # the first one starts the BLAS's threads
    best, begun, repetitions = float("inf"), time.perf_counter(), 0
    while repetitions < 3 or time.perf_counter() - begun < budget_s:
        started = time.perf_counter()
        np.matmul(a, b, out=out)
        best = min(best, time.perf_counter() - started)
        repetitions += 1
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {"flop_s": FLOP_OF_ONE / best, "blas": f"{blas['name']} {blas.get('version', '')}".strip()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(float(sys.argv[1]))))
