"""The scripted engine: answers, chunks, errors, lies and deaths as told."""

import asyncio
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from paretoken.engines.base import Listen
from paretoken.engines.script import Script, ScriptedSettings
from paretoken.engines.scripted import Scripted
from paretoken.engines.scripted_server import ScriptedServer
from paretoken.errors import EngineError

CASES = Path(__file__).parent.parent / "cases"
Serve = Callable[..., str]


async def _serve(settings: ScriptedSettings, ready: "Future[tuple[str, Callable[[], object]]]") -> None:
    stop = asyncio.Event()
    served = ScriptedServer(settings, "scripted")
    async with await asyncio.start_server(served.handle, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        loop = asyncio.get_running_loop()
        ready.set_result((f"http://127.0.0.1:{port}", lambda: loop.call_soon_threadsafe(stop.set)))
        await stop.wait()


@pytest.fixture
def serve() -> Iterator[Serve]:
    """The program's server in a thread: what it answers does not depend on the process around it."""
    running: list[tuple[Callable[[], object], threading.Thread]] = []

    def start(*scripts: Script, **settings: Any) -> str:
        chosen = ScriptedSettings(scripts=scripts or (Script(),), **settings)
        ready: Future[tuple[str, Callable[[], object]]] = Future()
        thread = threading.Thread(target=lambda: asyncio.run(_serve(chosen, ready)))
        thread.start()
        url, stop = ready.result(timeout=20)
        running.append((stop, thread))
        return url

    yield start
    for stop, thread in running:
        stop()
        thread.join()


def connect(url: str) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)


def ask(connection: http.client.HTTPConnection, max_tokens: int = 4, path: str = "/v1/chat/completions") -> Any:
    body = {"max_tokens": max_tokens, "stream": True, "stream_options": {"include_usage": True}, "messages": []}
    connection.request("POST", path, json.dumps(body))
    return connection.getresponse()


def events(data: bytes) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in data.decode().split("\n\n") if line]
    return [line if line == "[DONE]" or line.startswith("{this") else json.loads(line) for line in lines]


def told(url: str, max_tokens: int = 4, path: str = "/v1/chat/completions") -> list[Any]:
    connection = connect(url)
    try:
        return events(ask(connection, max_tokens, path).read())
    finally:
        connection.close()


def said(found: list[Any]) -> list[str]:
    """The texts of the output chunks."""
    choices = [event["choices"][0] for event in found if isinstance(event, dict) and event.get("choices")]
    texts = [choice.get("text") or choice.get("delta", {}).get("content") for choice in choices]
    return [text for text in texts if text]


def test_an_ordinary_answer(serve: Serve) -> None:
    found = told(serve())
    assert said(found) == [" w0", " w1", " w2", " w3"]
    assert found[0]["choices"][0]["delta"] == {"role": "assistant", "content": None}
    assert found[-3]["choices"][0]["finish_reason"] == "length"
    assert found[-2]["choices"] == []
    assert found[-2]["usage"]["completion_tokens"] == 4
    assert found[-1] == "[DONE]"


def test_the_completions_endpoint(serve: Serve) -> None:
    found = told(serve(Script(texts=("a", "b"))), path="/v1/completions")
    assert said(found) == ["a", "b"]
    assert found[-3]["choices"][0]["finish_reason"] == "stop"


def test_scripts_are_taken_in_turn_on_one_connection(serve: Serve) -> None:
    url = serve(Script(texts=("a",)), Script(texts=("b",), usage="none", done_marker=False))
    connection = connect(url)
    try:
        found = [events(ask(connection).read()) for _ in range(3)]
    finally:
        connection.close()
    assert [said(one) for one in found] == [["a"], ["b"], ["a"]]
    assert [one[-1] == "[DONE]" for one in found] == [True, False, True]


@pytest.mark.parametrize(
    ("script", "chunks", "usage"),
    [
        (Script(tokens_per_chunk=3), 3, 8),
        (Script(output_tokens=5), 5, 5),
        (Script(usage="lie"), 8, 16),
        (Script(texts=("a", "b"), tokens_per_chunk=4), 2, 8),
    ],
)
def test_counts_and_lies(serve: Serve, script: Script, chunks: int, usage: int) -> None:
    found = told(serve(script), max_tokens=8)
    assert len(said(found)) == chunks
    assert found[-2]["usage"]["completion_tokens"] == usage


def test_times_are_kept(serve: Serve) -> None:
    """Chunks never come before they are due; that they come soon after is not for a test to say."""
    connection = connect(serve(Script(ttft_s=0.1, gap_s=(0.05, 0.01))))
    try:
        began = time.monotonic()
        response = ask(connection)
        arrived = []
        while line := response.readline():
            if b'": " w' in line:
                arrived.append(time.monotonic() - began)
        response.read()
    finally:
        connection.close()
    assert all(at >= due for at, due in zip(arrived, (0.1, 0.15, 0.16, 0.17), strict=True))


@pytest.mark.parametrize(
    ("script", "status", "kind", "start"),
    [
        (Script(status=429), 429, "application/json", b'{"error"'),
        (Script(fault="html"), 200, "text/html", b"<html>"),
    ],
)
def test_whole_answers_that_are_no_streams(serve: Serve, script: Script, status: int, kind: str, start: bytes) -> None:
    connection = connect(serve(script))
    try:
        response = ask(connection)
        assert (response.status, response.headers.get_content_type()) == (status, kind)
        assert response.read().startswith(start)
    finally:
        connection.close()


def test_an_error_inside_the_stream(serve: Serve) -> None:
    found = told(serve(Script(fault="error_event", fault_after=2)))
    assert said(found) == [" w0", " w1"]
    assert found[-1]["error"]["message"] == "scripted error"


def test_a_malformed_event_and_on(serve: Serve) -> None:
    found = told(serve(Script(fault="malformed", fault_after=1)))
    assert "{this is not JSON" in found
    assert len(said(found)) == 4


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("close", http.client.RemoteDisconnected),
        ("truncate", http.client.IncompleteRead),
        ("reset", ConnectionResetError),
    ],
)
def test_connections_that_break(serve: Serve, fault: str, error: type[Exception]) -> None:
    url = serve(Script(fault=fault, fault_after=1, gap_s=0.02), Script())
    connection = connect(url)
    try:
        with pytest.raises(error):
            ask(connection).read()
    finally:
        connection.close()
    assert told(url)  # the next one is answered


@pytest.mark.parametrize(("fault", "last"), [("stall", b" w1"), ("stall_after_done", b"[DONE]")])
def test_stalls(serve: Serve, fault: str, last: bytes) -> None:
    """What was to be said arrives, then nothing, and the connection stays open."""
    connection = connect(serve(Script(fault=fault, fault_after=2)))
    try:
        response = ask(connection)
        data = b""
        while last not in data:
            data += response.read1(65536)
        assert connection.sock is not None
        connection.sock.settimeout(0.2)
        with pytest.raises(TimeoutError):
            while response.read1(65536):
                pass
    finally:
        connection.close()


def test_a_body_that_ends_with_the_connection(serve: Serve) -> None:
    connection = connect(serve(Script(framing="close")))
    try:
        response = ask(connection)
        assert response.getheader("Transfer-Encoding") is None
        assert events(response.read())[-1] == "[DONE]"
    finally:
        connection.close()


def test_several_chunks_in_one_write(serve: Serve) -> None:
    """Seen from the framing: one HTTP chunk holds three events (the first of them the role too)."""
    url = serve(Script(chunks_per_write=3, gap_s=0.001))
    parts = urlsplit(url)
    body = json.dumps({"max_tokens": 6, "stream": True})
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as wire:
        wire.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        data = b""
        while not data.endswith(b"0\r\n\r\n"):
            data += wire.recv(65536)
    pieces = [part for part in data.split(b"\r\n") if part.startswith(b"data:")]
    assert [piece.count(b'"content": " w') for piece in pieces] == [3, 3, 0]


def test_slots_make_the_others_wait(serve: Serve) -> None:
    """Two streams of 0.2 s over one slot take 0.4 s; the second one's head is withheld meanwhile."""
    url = serve(Script(ttft_s=0.2), slots=1)
    began = time.monotonic()
    threads = [threading.Thread(target=told, args=(url,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began >= 0.4


@pytest.mark.parametrize(
    ("script", "settings", "cause"),
    [
        (Script(fault="exit", fault_after=1), {}, "exit status 3"),
        (Script(fault="segv", fault_after=1), {}, "SIGSEGV"),
        (Script(), {"die_at_request": 2, "death": "oom"}, "out of memory"),
    ],
)
def test_deaths(script: Script, settings: dict[str, Any], cause: str) -> None:
    with Scripted().launch(None, ScriptedSettings(scripts=(script,), **settings)) as running:
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            for _ in range(2):
                told(running.base_url)
        with pytest.raises(EngineError, match=cause):
            running.check(within_s=10)
        assert not running.alive()


def test_case_fits_at_start_fails_under_load() -> None:
    """The 20th concurrent request kills it; the reason says why, and the next one starts."""
    expected = json.loads((CASES / "sr-fits-at-start-fails-under-load.json").read_text())["expect"]
    settings = ScriptedSettings(scripts=(Script(ttft_s=30),), die_at_concurrent=20)
    with Scripted().launch(None, settings) as running:
        connections = [connect(running.base_url) for _ in range(20)]
        for number, connection in enumerate(connections):
            connection.request("POST", "/v1/chat/completions", '{"stream": true}')
            assert running.alive() or number == 19
        with pytest.raises(EngineError, match=expected["reason_contains"]):
            running.check(within_s=10)
        assert not running.alive()
        for connection in connections:
            connection.close()
    with Scripted().launch(None, settings) as following:
        assert following.alive() is expected["next_trial_started"]


def test_a_key_is_asked_for() -> None:
    with Scripted().launch(None, ScriptedSettings(), listen=Listen(api_key="secret-1")) as running:
        connection = connect(running.base_url)
        try:
            assert ask(connection).status == 401
        finally:
            connection.close()
