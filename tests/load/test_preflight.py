"""Before a run: who is refused, in which words, and at what cost."""

import msgspec
import pytest

from paretoken.errors import EndpointError
from paretoken.load import preflight as module
from paretoken.load.preflight import preflight, served_models
from paretoken.load.schedule import Endpoint, Timeouts
from tests.load.driving import closed_port, schedule
from tests.load.server import Answer, Server, Talk, head_of


def replying(status: str, content_type: str, body: bytes) -> Answer:
    def answer(talk: Talk) -> None:
        talk.send(head_of(status, content_type, f"content-length: {len(body)}") + body)

    return answer


def test_a_server_names_its_models() -> None:
    body = msgspec.json.encode({"object": "list", "data": [{"id": "small"}, {"id": "large", "owned_by": "us"}]})
    with Server(replying("200 OK", "application/json", body)) as server:
        assert preflight(schedule(server.port)) == ("small", "large")
    assert [talk.head.split(b"\r\n")[0] for talk in server.talks] == [b"GET /v1/models HTTP/1.1"]
    assert server.connections == 1


def test_a_path_of_its_own_is_kept() -> None:
    with Server(replying("200 OK", "application/json", b'{"data":[]}')) as server:
        assert served_models(Endpoint("http", "127.0.0.1", server.port, "/proxy/v1/chat/completions")) == ()
    assert server.talks[0].path == "/proxy/v1/models"


def test_a_closed_port_is_named() -> None:
    port = closed_port()
    with pytest.raises(EndpointError, match=rf"127\.0\.0\.1:{port} .*refused"):
        preflight(schedule(port))


@pytest.mark.parametrize(
    ("content_type", "body"),
    [("text/html", b"<html>It works!</html>"), ("text/plain", b"OK"), ("application/json", b'{"data": 4}')],
)
def test_what_answers_200_with_something_else_is_no_inference_server(content_type: str, body: bytes) -> None:
    with (
        Server(replying("200 OK", content_type, body)) as server,
        pytest.raises(EndpointError, match=f"{content_type}: that is not an inference server"),
    ):
        preflight(schedule(server.port))
    assert len(server.talks) == 1


@pytest.mark.parametrize("status", ["404 Not Found", "405 Method Not Allowed", "500 Oops", "503 Loading"])
def test_a_server_without_a_list_of_models_is_not_judged(status: str) -> None:
    with Server(replying(status, "text/html", b"<html>")) as server:
        assert preflight(schedule(server.port)) == ()


def test_a_server_that_wants_a_key_is_said_so() -> None:
    with (
        Server(replying("401 Unauthorized", "application/json", b"{}")) as server,
        pytest.raises(EndpointError, match="wants a key"),
    ):
        preflight(schedule(server.port))


def test_the_key_goes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_OF_KEYS", "open sesame")
    with Server(replying("200 OK", "application/json", b'{"data":[]}')) as server:
        preflight(schedule(server.port, api_key_env="TEST_OF_KEYS"))
    assert b"authorization: Bearer open sesame" in server.talks[0].head


def reset(talk: Talk) -> None:
    talk.reset()


def close(talk: Talk) -> None:
    talk.close()


def gibberish(talk: Talk) -> None:
    talk.send(b"220 mail.example ESMTP\r\n")
    talk.hang()


def silent(talk: Talk) -> None:
    talk.hang()


@pytest.mark.parametrize(
    ("answer", "said"),
    [(reset, "it ended the connection"), (close, "without a word"), (gibberish, "not HTTP"), (silent, "first byte")],
)
def test_what_gives_no_answer_is_refused(answer: Answer, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LIMITS", Timeouts(connect_s=1.0, first_byte_s=0.15, gap_s=0.15, total_s=1.0))
    with Server(answer) as server, pytest.raises(EndpointError, match=said):
        preflight(schedule(server.port))


def test_its_patience_is_short() -> None:
    assert module._LIMITS.total_s < 15
