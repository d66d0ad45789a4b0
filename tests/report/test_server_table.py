from typing import Any

from paretoken.report.server_table import server_lines

SERVER: dict[str, Any] = {
    "name": "vllm",
    "beside": [
        {"name": "requests", "server": 5.0, "ours": 5.0, "compared": True},
        {"name": "ttft_ms", "server": 20.5, "ours": 21.25, "compared": True},
        {"name": "queue_ms", "server": 3.0, "ours": None, "compared": False},
        {"name": "of another version", "server": 3.0, "ours": None},
    ],
}
HOST: dict[str, Any] = {
    "window": "from just before …",
    "engine": {"cores": 1.5, "memory_peak_bytes": 500_000_000},
    "client": {"cores": None},
    "energy": {"joules": 420.0, "joules_per_output_token": 2.1},
    "cards": [{"name": "H\x1b[31m", "joules": 40.0, "joules_per_output_token": None}],
}


def test_both_sides_stand_together() -> None:
    first, second = server_lines({"server": SERVER, "host": HOST})
    assert first == (
        "The server's own figures (vLLM) / ours: requests 5 / 5, first word 20.5 ms / 21.2 ms, in its queue 3.00 ms / –"
    )
    assert second.startswith("This machine while requests were measured: engine 1.50 cores, engine's memory 500.0 MB")
    assert "processor 420 J (2.1 J an output token)" in second
    assert "\x1b" not in second and second.endswith("40 J")


def test_what_is_not_known_takes_no_line() -> None:
    assert server_lines({}) == []
    assert server_lines({"server": {"name": None, "reason": "no metrics", "beside": []}, "host": {"reasons": {}}}) == []
    assert server_lines({"server": None, "host": "x"}) == []


def test_a_window_of_the_whole_run_is_named() -> None:
    host = {"window": "the whole run, its warm-up included", "engine": {"cores": 2.0}}
    assert server_lines({"host": host}) == ["This machine in the whole run: engine 2.00 cores"]
