"""What goes out: the head, the key from the environment, the body."""

import pytest

from paretoken.errors import EndpointError, UsageError
from paretoken.load.message import authorization, messages
from tests.load.driving import planned, schedule


def test_a_request_is_head_and_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_OF_KEYS", " secret\n")
    plan = schedule(8080, requests=(planned(0, body='{"é":1}'),), api_key_env="TEST_OF_KEYS", headers={"x-a": "b"})
    ((sent,),) = messages(plan)
    head, _, body = sent.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /v1/chat/completions HTTP/1.1"
    assert {"host: 127.0.0.1:8080", "x-a: b", "authorization: Bearer secret", "content-length: 8"} <= set(lines)
    assert body == '{"é":1}'.encode()


def test_no_key_is_asked_for_without_a_variable() -> None:
    assert authorization(None) == {}


@pytest.mark.parametrize("value", [None, "", "  "])
def test_an_empty_variable_is_an_error_that_names_it(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_OF_KEYS", raising=False)
    if value is not None:
        monkeypatch.setenv("TEST_OF_KEYS", value)
    with pytest.raises(EndpointError, match="TEST_OF_KEYS"):
        authorization("TEST_OF_KEYS")


def test_a_key_that_no_header_can_carry_is_refused_unrepeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_OF_KEYS", "secret\nx: y")
    with pytest.raises(UsageError, match="key") as refused:
        authorization("TEST_OF_KEYS")
    assert "secret" not in str(refused.value)
