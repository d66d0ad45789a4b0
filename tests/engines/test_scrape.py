"""One look at /metrics: where it is, and what comes of each way in which it can fail."""

import http.server
import threading
import time
from collections.abc import Iterator

import pytest

from paretoken.engines.scrape import metrics_url, scrape
from paretoken.engines.script import ScriptedSettings
from paretoken.engines.scripted import Scripted
from paretoken.wire.server_metrics import dialect_of


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("http://h:9", "http://h:9/metrics"),
        ("http://h:9/", "http://h:9/metrics"),
        ("http://h:9/v1", "http://h:9/metrics"),
        ("http://h:9/v1/", "http://h:9/metrics"),
        ("http://h:9/v1/chat/completions", "http://h:9/metrics"),
        ("http://h:9/v1beta/openai", "http://h:9/metrics"),
        ("http://h:9/team/v1", "http://h:9/team/metrics"),
        ("http://h:9/api/chat", "http://h:9/metrics"),
        ("http://h:9/team", "http://h:9/team/metrics"),
        ("http://[::1]:9/v1", "http://[::1]:9/metrics"),
        ("https://h", "https://h/metrics"),
    ],
)
def test_the_page_lies_beside_the_api(base: str, expected: str) -> None:
    assert metrics_url(base) == expected


def test_a_page_is_read_and_told_apart_from_none() -> None:
    with Scripted().launch(None, ScriptedSettings(metrics="true")) as running:
        found = scrape(running.base_url)
    assert found.why is None and found.page is not None and found.took_s < 2
    dialect = dialect_of(found.page)
    assert dialect is not None and dialect.name == "vllm"
    with Scripted().launch(None, ScriptedSettings()) as running:
        found = scrape(running.base_url)
        url = running.base_url
    assert found.page is None and found.why == f"{url}/metrics answers HTTP 404"
    gone = scrape(url)
    assert gone.page is None and gone.why is not None and "did not answer" in gone.why


class _Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        if self.path.startswith("/page"):
            self.send_header("content-length", "13")
            self.end_headers()
            self.wfile.write(b"<html></html>")
            return
        self.send_header("content-length", "1000000")
        self.end_headers()
        for _ in range(100):  # a byte now and then
            try:
                self.wfile.write(b"a")
            except OSError:
                return
            time.sleep(0.05)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def slow() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Slow)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_page_that_trickles_holds_nobody_up(slow: str) -> None:
    found = scrape(slow, timeout_s=0.2)
    assert found.page is None and found.why is not None and "no whole answer in time" in found.why


def test_a_web_page_shows_no_metrics(slow: str) -> None:
    found = scrape(f"{slow}/page")
    assert found.page is None and found.why == f"{slow}/page/metrics shows no metrics"
