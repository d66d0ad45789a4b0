"""Ready means a real completion from our own process (cases el-wait-until-ready, el-wrong-server-200)."""

import json
import socket
import sys
from pathlib import Path

import pytest

from paretoken.engines.readiness import Answer, ask_one_token, chat_body, wait_until_ready
from paretoken.engines.script import Script, ScriptedSettings
from paretoken.engines.scripted import Scripted
from paretoken.errors import EngineError

CASES = Path(__file__).parent.parent / "cases"
URL = "http://127.0.0.1:9"


class Fake:
    """An engine in virtual time: dies, reports and listens when told."""

    name = "fake"

    def __init__(self, *, reports: str | None = json.dumps({"url": URL}), ours: bool | None = True) -> None:
        self.now_s = 0.0
        self.reports = reports
        self.ours = ours
        self.dead: str | None = None

    def reported(self, timeout_s: float = 0.0) -> str | None:
        if self.reports is None:
            self.now_s += timeout_s
        return self.reports

    def death(self, within_s: float = 0.0) -> str | None:
        return self.dead

    def owns(self, url: str) -> bool | None:
        return self.ours

    def clock(self) -> float:
        return self.now_s

    def sleep(self, pause_s: float) -> None:
        self.now_s += pause_s


def wait(fake: Fake, answers: list[tuple[float, Answer]], timeout_s: float = 60.0) -> str:
    """`answers`: (until when, what is answered till then)."""

    def ask(url: str, left_s: float) -> Answer:
        return next(answer for until_s, answer in answers if fake.now_s < until_s)

    return wait_until_ready(fake, ask, timeout_s=timeout_s, clock=fake.clock, sleep=fake.sleep)


READY = (float("inf"), Answer("ready", ""))


def test_case_wait_until_ready_in_virtual_time() -> None:
    low_s, high_s = json.loads((CASES / "el-wait-until-ready.json").read_text())["expect"]["load_time_reported_s"]
    fake = Fake()
    refused, loading = Answer("refused", "refused the connection"), Answer("loading", "answers HTTP 503")
    assert wait(fake, [(1.0, refused), (5.0, loading), READY]) == URL
    assert low_s <= fake.now_s <= high_s


def test_case_wait_until_ready_with_a_process() -> None:
    """The same at a tenth of the time: /health is 200 from 0.4 s on, but completions only from 0.5 s."""
    expected = json.loads((CASES / "el-wait-until-ready.json").read_text())["expect"]
    settings = ScriptedSettings(refuse_s=0.1, health_after_s=0.4, ready_after_s=0.5)
    with Scripted().launch(None, settings) as running:
        assert running.load_s is not None and running.load_s >= 0.4
        assert running.load_s >= expected["load_time_reported_s"][0] / 10
        # The first request after the start does not fail, and none after it.
        url = f"{running.base_url}/v1/chat/completions"
        states = [ask_one_token(url, chat_body("m"), 10.0).state for _ in range(3)]
        assert sum(state != "ready" for state in states) == expected["failed_requests"]


def test_case_wrong_server_with_200() -> None:
    said = json.loads((CASES / "el-wrong-server-200.json").read_text())["expect"]["message_contains"][0]
    with pytest.raises(EngineError, match=f"{said}.*text/html"):
        Scripted().launch(None, ScriptedSettings(web_page=True))


def test_a_timeout_says_what_was_seen_last() -> None:
    with pytest.raises(EngineError, match=r"not ready after 5 s: http://127.0.0.1:9 answers HTTP 503"):
        wait(Fake(), [(99.0, Answer("loading", "answers HTTP 503"))], timeout_s=5)


def test_an_engine_that_never_says_where_it_listens() -> None:
    with pytest.raises(EngineError, match="has not said where it listens"):
        wait(Fake(reports=None), [READY], timeout_s=5)


def test_a_socket_that_nobody_opened_yet_is_not_asked() -> None:
    with pytest.raises(EngineError, match="does not listen yet"):
        wait(Fake(ours=None), [READY], timeout_s=5)


def test_another_process_at_our_address_is_refused() -> None:
    with pytest.raises(EngineError, match="served by another process"):
        wait(Fake(ours=False), [READY])


def test_a_death_ends_the_wait() -> None:
    fake = Fake()
    fake.dead = "fake died: exit status 1"
    with pytest.raises(EngineError, match="died: exit status 1"):
        wait(fake, [READY])


@pytest.mark.parametrize("report", ["", "[]", "not JSON", '{"uri": 1}'])
def test_a_report_that_makes_no_sense(report: str) -> None:
    with pytest.raises(EngineError, match="instead of its address"):
        wait(Fake(reports=report), [READY])


def test_an_address_for_everybody_is_asked_at_loopback() -> None:
    assert wait(Fake(reports='{"url": "http://0.0.0.0:80"}'), [READY]) == "http://127.0.0.1:80"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_stranger_on_the_reported_port() -> None:
    """A real engine that reports an address at which this process listens."""
    from paretoken.engines.launch import launch_program

    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        code = (
            "import time\n"
            "from paretoken.engines.child import report_url\n"
            f"report_url('http://127.0.0.1:{port}')\n"
            "time.sleep(600)"
        )
        with pytest.raises(EngineError, match=f"127.0.0.1:{port} is served by another process"):
            launch_program("fake", [sys.executable, "-c", code], {}, model_name="m", engine_args={})


def test_asking_the_real_program() -> None:
    """A completion that is not streamed is answered whatever the script; another path is not a server of models."""
    with Scripted().launch(None, ScriptedSettings(scripts=(Script(status=500),))) as running:
        assert ask_one_token(f"{running.base_url}/v1/chat/completions", chat_body("m"), 10.0).state == "ready"
        answer = ask_one_token(f"{running.base_url}/elsewhere", chat_body("m"), 10.0)
    assert answer.state == "wrong"
    assert "HTTP 404; it is not an inference server" in answer.seen
    assert ask_one_token(running.base_url, chat_body("m"), 10.0).state == "refused"
