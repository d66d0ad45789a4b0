"""A watched answer that is none: each ends soon, in one sentence, with what was seen."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from paretoken.cli.main import cli
from paretoken.engines.endpoint import Attached
from paretoken.errors import UsageError
from paretoken.study import trace as module
from paretoken.study.trace import NoWholeAnswer, trace, trace_on
from tests.load.server import Answer, Server, Talk, chunk, event, head_of, streaming


def watched(answer: Answer, output_tokens: int = 2) -> NoWholeAnswer:
    with Server(answer) as server, pytest.raises(NoWholeAnswer) as failure:
        trace_on(Attached(server.url, "m", "openai-chat-sse"), "Why?", output_tokens=output_tokens)
    assert str(failure.value).isprintable()
    return failure.value


def forever(data: bytes) -> Answer:
    def answer(talk: Talk) -> None:
        talk.send(head_of())
        while not talk.over:
            talk.send(chunk(data))

    return answer


def refusing(status: str, body: bytes, content_type: str = "application/json", more: str = "") -> Answer:
    head = head_of(status, content_type, f"{more}content-length: {len(body)}")
    return lambda talk: talk.send(head + body)


def test_a_server_that_never_stops_is_cut_off() -> None:
    failure = watched(forever(event()))
    assert "2 tokens were asked for" in str(failure)
    assert failure.found.record.reply.n_chunks < 1000


def test_an_endless_line_is_cut_off_at_the_limit_of_an_event() -> None:
    failure = watched(forever(b"x" * 1_000_000))
    assert "one event of the stream is larger than" in str(failure)


def test_a_refusal_shows_its_number_and_its_words() -> None:
    said = str(watched(refusing("503 Busy", b'{"error":{"message":"come \\u001b[2J back"}}')))
    assert "http_status 503: come" in said


def test_a_redirect_shows_the_new_address() -> None:
    said = str(watched(refusing("307 Moved", b"", more="location: http://other:1/v1\r\n")))
    assert "http_status 307" in said and said.endswith("give its new address, http://other:1/v1")


def test_what_is_no_stream_comes_with_advice() -> None:
    said = str(watched(refusing("200 OK", b'{"choices":[]}')))
    assert "not_a_stream" in said and "--protocol" in said and "does not stream" in said


class Lines:
    def __init__(self) -> None:
        self.progressed: list[str] = []

    def line(self, text: str) -> None: ...

    def raw(self, text: str) -> None: ...

    def progress(self, text: str) -> None:
        self.progressed.append(text)


def test_the_wait_for_the_first_token_is_told() -> None:
    talk = Lines()
    with Server(streaming(before_s=1.3)) as server:
        trace_on(Attached(server.url, "m", "openai-chat-sse"), "Why?", output_tokens=3, talk=talk)
    assert talk.progressed[0].startswith("waiting for the first token: 1")
    assert talk.progressed[-1] == ""
    assert module.TIMEOUTS.first_byte_s == 120


@pytest.mark.parametrize(("prompt", "said"), [("a\udcff", "not UTF-8"), ("a\0b", "NUL")])
def test_a_text_that_cannot_be_sent_is_one_sentence(tmp_path: Path, prompt: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        trace("http://127.0.0.1:9", prompt, home=tmp_path)
    with pytest.raises(UsageError, match=said):
        trace("http://127.0.0.1:9", model=prompt, home=tmp_path)


def test_the_document_is_printed_on_failure_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(refusing("500 No", b"broken")) as server:
        attached = Attached(server.url, "m", "openai-chat-sse")
        monkeypatch.setattr(module, "trace", lambda *_, **__: trace_on(attached, "Why?", output_tokens=2))
        done = CliRunner().invoke(cli, ["--home", str(tmp_path), "trace", server.url, "Why?", "--json"])
    assert isinstance(done.exception, NoWholeAnswer)
    assert done.exception.exit_code == 3
    document = json.loads(done.stdout)
    assert (document["ok"], document["status"], document["error_message"]) == (False, 500, "broken")
