"""The machine's description: what is in it, and what must not be."""

import getpass
import json
import socket
from pathlib import Path
from typing import Any

from paretoken.machine.describe import cpu_from, describe, machine_fingerprint, memory_from

X86 = (
    "processor\t: 0\nmodel name\t: A CPU @ 2 GHz\nflags\t\t: fpu avx2 avx512f zzz\n\nprocessor\t: 1\nmodel name\t: B\n"
)
ARM = "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd asimddp i8mm\n"


def test_cpu_of_x86_and_arm() -> None:
    assert cpu_from(X86) == ("A CPU @ 2 GHz", ["avx2", "avx512f"])
    assert cpu_from(ARM) == (None, ["asimd", "asimddp", "i8mm"])
    assert cpu_from("") == (None, [])


def test_memory() -> None:
    assert memory_from("MemTotal:       16384 kB\nMemFree: 1 kB\n") == 16384 * 1024
    assert memory_from("") is None


def test_it_is_json_and_names_nobody() -> None:
    text = json.dumps(describe(), allow_nan=False)
    for private in (str(Path.home()), socket.gethostname(), f'"{getpass.getuser()}"'):
        assert private not in text


def test_the_fingerprint_is_the_hardwares() -> None:
    found = describe()
    assert found["fingerprint"] == describe()["fingerprint"]
    assert machine_fingerprint(found | {"kernel": "other", "python": "4.0"}) == found["fingerprint"]
    nearly = found | {"memory_bytes": (found["memory_bytes"] or 0) + 4096}
    assert machine_fingerprint(nearly) == found["fingerprint"]
    changes: tuple[dict[str, Any], ...] = (
        {"cpu": "x"},
        {"threads": 999},
        {"flags": []},
        {"memory_bytes": 2**50},
        {"memory_bytes": None},
    )
    for change in changes:
        assert machine_fingerprint(found | change) != found["fingerprint"]
