"""Somebody else's address: checked by one real token, named by its own list of models."""

import socket

import pytest

from paretoken.engines.base import Listen, Running
from paretoken.engines.endpoint import attach, served_model
from paretoken.engines.null import Null, NullSettings
from paretoken.engines.script import ScriptedSettings
from paretoken.engines.scripted import Scripted
from paretoken.errors import EndpointError, UsageError


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port: int = closed.getsockname()[1]
        return port


@pytest.mark.parametrize("path", ["", "/v1", "/v1/chat/completions"])
def test_attached(path: str) -> None:
    with Null().launch(None, NullSettings()) as server:
        with attach(server.base_url + path) as running:
            assert isinstance(running, Running)
            assert (running.model_name, running.pid, running.base_url) == ("null", None, server.base_url + path)
            assert running.alive()
            running.check()
        assert server.alive()  # leaving it stops nothing


@pytest.mark.parametrize("model", [None, "m"])
def test_nobody_listens(closed_port: int, model: str | None) -> None:
    with pytest.raises(EndpointError, match=f"127.0.0.1:{closed_port} refused the connection"):
        attach(f"http://127.0.0.1:{closed_port}", model=model)


def test_a_key_is_needed() -> None:
    with Scripted().launch(None, ScriptedSettings(), listen=Listen(api_key="secret-1")) as server:
        with pytest.raises(EndpointError, match="wants another API key"):
            attach(server.base_url)
        assert attach(server.base_url, api_key="secret-1").model_name == "scripted"


class Answers:
    """A stand-in for the exchange with a server."""

    def __init__(self, status: int, kind: str, body: bytes) -> None:
        self.reply = (status, kind, body)
        self.asked: list[str] = []

    def __call__(self, url: str, body: object, **more: object) -> tuple[int, str, bytes]:
        self.asked.append(url)
        return self.reply


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"data": []}', r"serves 0 models \(none\)"),
        (b'{"data": [{"id": "a"}, {"id": "b"}]}', r"serves 2 models \('a', 'b'\); name one"),
        (b"<html>hello</html>", "lists no models"),
        (b'{"data": {"id": 1}}', "lists no models"),
    ],
)
def test_which_model(monkeypatch: pytest.MonkeyPatch, body: bytes, said: str) -> None:
    monkeypatch.setattr("paretoken.engines.endpoint.exchange", Answers(200, "application/json", body))
    with pytest.raises(EndpointError, match=said):
        served_model("http://127.0.0.1:9")


def test_ollama_lists_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers(200, "application/json", b'{"models": [{"name": "smollm2:135m"}]}')
    monkeypatch.setattr("paretoken.engines.endpoint.exchange", answers)
    assert served_model("http://127.0.0.1:9", protocol="ollama-ndjson") == "smollm2:135m"
    assert answers.asked == ["http://127.0.0.1:9/api/tags"]
    monkeypatch.setattr("paretoken.engines.readiness.exchange", Answers(200, "application/json", b'{"done": true}'))
    assert attach("http://127.0.0.1:9", model="m", protocol="ollama-ndjson").protocol == "ollama-ndjson"


def test_a_page_behind_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paretoken.engines.readiness.exchange", Answers(200, "text/html", b"<html>hello</html>"))
    with pytest.raises(EndpointError, match=r"is not an inference server: .*text/html.*check the address"):
        attach("http://127.0.0.1:9", model="m")


def test_loading_is_waited_for_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, said = Answers(503, "application/json", b"loading"), list[str]()
    monkeypatch.setattr("paretoken.engines.readiness.exchange", answers)
    with pytest.raises(EndpointError, match="answers HTTP 503"):
        attach("http://127.0.0.1:9", model="m", timeout_s=0.2, on_wait=said.append)
    assert len(answers.asked) > 1
    assert len(said) == 1 and "answers HTTP 503" in said[0] and "asking again" in said[0]


def test_what_is_no_address() -> None:
    with pytest.raises(UsageError, match="not http or https"):
        attach("ftp://h", model="m")
