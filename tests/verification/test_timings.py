"""Servers' own timings, by their names."""

from paretoken.core.record import Record
from paretoken.verification.timings import claimed_s, contradicts, loaded_model
from tests.made import record


def told(**timings: float) -> Record:
    return record(ttft_s=0.1, tpot_s=0.1, tokens=10, reply={"server_timings": timings})  # e2e 1 s


def test_names_of_llama_cpp_and_ollama() -> None:
    assert claimed_s(told(prompt_ms=100.0, predicted_ms=900.0)) == 1.0
    assert claimed_s(told(total_duration=2e9)) == 2.0
    assert claimed_s(told(prompt_ms=100.0)) is None


def test_slack_for_rounding_but_no_more() -> None:
    assert not contradicts(told(total_duration=1.02e9))
    assert contradicts(told(total_duration=1.03e9))
    assert not contradicts(told())
    assert not contradicts(record(outcome="lost", reply={"server_timings": {"total_duration": 9e9}}))


def test_loading() -> None:
    assert loaded_model(told(load_duration=2e8))
    assert not loaded_model(told(load_duration=2e7))
