"""`paretoken machine`, with the measuring replaced by known limits."""

import json

import pytest
from click.testing import CliRunner

from paretoken.cli.machine import machine
from paretoken.machine.limits import Limits

KNOWN = Limits(threads=2, read_gb_s=15.8, read_gb_s_one_thread=8.9, flop_s=1.5e11, how="told")


@pytest.fixture(autouse=True)
def known_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paretoken.machine.limits.limits", lambda: KNOWN)


def test_for_people() -> None:
    done = CliRunner().invoke(machine)
    assert done.exit_code == 0
    assert "15.8 GB/s on 2 threads, 8.9 on one" in done.output
    assert "smollm2-135m reads 96.6 MB a decode step, so a step takes at least 6.11 ms" in done.output
    assert "at most 164 tok/s" in done.output


def test_as_one_document() -> None:
    done = CliRunner().invoke(machine, ["--json"])
    document = json.loads(done.output)
    assert document["limits"]["read_gb_s"] == 15.8
    assert document["meaning"]["decode_step_at_least_ms"] == pytest.approx(6.112, abs=5e-4)
    assert document["threads"] >= 1 and document["fingerprint"]
