"""The demo's study at 8 streams and the same at 1 stream, stored in docs/results for the README and the log.

    .venv/bin/python benchmarks/studies.py [8|1]

Measures alone: nothing else should run. About eight minutes each.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"


def study(streams: int) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [sys.executable, "-m", "paretoken", "--home", home, "optimize", "--concurrency", str(streams), "--json"],
            stdout=subprocess.PIPE,
            check=True,
        )
        document = json.loads(done.stdout)
    path = RESULTS / f"optimize-{streams}-streams.json"
    path.write_text(json.dumps(document, indent=1) + "\n")
    chosen = document["recommended"]
    print(f"{streams} streams: {chosen['label'] if chosen else None}: {document['why']}")


if __name__ == "__main__":
    for wanted in sys.argv[1:] or ["8", "1"]:
        study(int(wanted))
