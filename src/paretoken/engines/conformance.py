"""What every engine must do, as tests that a plugin inherits: a class, a name, and one subclass of this.

    class TestMyEngine(EngineConformance):
        def subject(self) -> Subject:
            return Subject(MyEngine(), MySettings(), model_path="…")

Needs no test framework beyond one that collects `Test…` classes with `test_…` methods; failures are AssertionErrors.
"""

import contextlib
import http.client
import json
import os
import signal
import socket
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from urllib.parse import urlsplit

from paretoken.engines.base import Engine, Running, Settings
from paretoken.engines.supervisor_child import LINE_BYTES, TAIL_LINES
from paretoken.errors import EngineError, UsageError

GONE_WITHIN_S = 10.0
_TOKENS = 8


@dataclass(frozen=True)
class Subject:
    """The engine to be tested, and what it shall be launched with."""

    engine: Engine
    settings: Settings
    model_path: str | None = None

    def launch(self) -> Running:
        return self.engine.launch(self.model_path, self.settings)


class EngineConformance(ABC):
    @abstractmethod
    def subject(self) -> Subject:
        """Called once a test."""

    def test_settings_survive_json(self) -> None:
        settings = self.subject().settings
        as_text = json.dumps(settings.as_json())
        assert type(settings).from_json(json.loads(as_text)) == settings
        assert isinstance(settings, self.subject().engine.settings_type)

    def test_an_unknown_setting_is_refused_by_name(self) -> None:
        try:
            self.subject().engine.settings_type.from_json({"surely_unknown": 1})
        except UsageError as error:
            assert "surely_unknown" in str(error)
        else:
            raise AssertionError("an unknown setting was taken")

    def test_it_says_what_it_is(self) -> None:
        subject = self.subject()
        assert subject.engine.missing() is None
        assert set(subject.engine.version()) == {"wheel", "library_sha256"}
        json.dumps(subject.engine.request_extra(subject.settings))

    def test_answers_then_stops_without_a_trace(self) -> None:
        """Ready means that streams complete; after leaving, port and processes are gone."""
        subject = self.subject()
        with subject.launch() as running:
            assert running.alive()
            assert running.load_s is not None and running.load_s > 0
            running.check()
            events = _stream(running)
            assert events[-1] == "[DONE]"
            said = [json.loads(event) for event in events[:-1]]
            assert any(choice["finish_reason"] for event in said for choice in event["choices"])
            assert said[-1]["usage"]["completion_tokens"] == _TOKENS
            assert len(running.log_tail()) <= TAIL_LINES * (LINE_BYTES + 1)
            pid, url = running.pid, running.base_url
        assert not running.alive()
        running.check()  # being stopped is no failure
        running.stop()  # nor is stopping twice
        assert pid is not None
        _gone(pid)
        parts = urlsplit(url)
        with socket.socket() as probe:
            assert probe.connect_ex((parts.hostname, parts.port)) != 0, "something still listens"

    def test_a_death_is_an_engine_error_with_its_cause(self) -> None:
        with self.subject().launch() as running:
            assert running.pid is not None
            os.kill(running.pid, signal.SIGSEGV)
            try:
                running.check(within_s=GONE_WITHIN_S)
            except EngineError as error:
                assert "SIGSEGV" in str(error)
            else:
                raise AssertionError("the death was not noticed")
            assert not running.alive()


def _stream(running: Running) -> list[str]:
    """The data of all events of one streamed chat completion."""
    parts = urlsplit(running.base_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    body = {
        "model": running.model_name,
        "messages": [{"role": "user", "content": "Count to ten."}],
        "max_tokens": _TOKENS,
        "stream": True,
        "stream_options": {"include_usage": True},
        "ignore_eos": True,
    }
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        text = connection.getresponse().read().decode()
    finally:
        connection.close()
    return [line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:")]


def _gone(pgid: int) -> None:
    """No process is left in the group, or soon is."""
    until = time.monotonic() + GONE_WITHIN_S
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < until:
            os.killpg(pgid, 0)
            time.sleep(0.02)
        raise AssertionError(f"processes of group {pgid} are left")
