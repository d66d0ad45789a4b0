"""`paretoken machine`'s read bandwidth against a C read loop, interleaved. The claim: within 10 %.

    .venv/bin/python benchmarks/bandwidth.py

Needs a C compiler. Measures alone, about a minute. Stores docs/results/bandwidth.json.
"""

import json
import statistics
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from paretoken.machine.bandwidth import read_gb_s
from paretoken.machine.describe import describe

RESULT = Path(__file__).parents[1] / "docs" / "results" / "bandwidth.json"
SOURCE = Path(__file__).with_name("read_loop.c")
ROUNDS, BYTES, SECONDS = 7, 512 << 20, 0.8  # the bytes and seconds of read_gb_s


def main() -> None:
    machine = describe()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "read_loop")
        subprocess.run(["cc", "-O3", "-march=native", "-pthread", str(SOURCE), "-o", program], check=True)
        for threads in sorted({1, machine["threads"]}):
            ours, theirs = [], []
            for _ in range(ROUNDS):
                ours.append(read_gb_s(threads))
                loop = [program, str(threads), str(BYTES), str(SECONDS)]
                theirs.append(float(subprocess.run(loop, capture_output=True, text=True, check=True).stdout))
            rows.append(
                {
                    "threads": threads,
                    "ours_gb_s": statistics.median(ours),
                    "c_gb_s": statistics.median(theirs),
                    "ratio": statistics.median(ours) / statistics.median(theirs),
                    "ours": ours,
                    "c": theirs,
                }
            )
            print({name: rows[-1][name] for name in ("threads", "ours_gb_s", "c_gb_s", "ratio")})
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    RESULT.write_text(json.dumps({"at": at, "machine": machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
