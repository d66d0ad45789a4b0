"""A small client of Chromium's DevTools protocol over two pipes, for the tests of the page.

Enters a file's address, a size and a colour scheme; leaves what the browser saw: its complaints, its requests, and what
an expression evaluates to. No port is opened and nothing is downloaded; Chromium is the system's own.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

NEEDED = "PARETOKEN_NEED_CHROMIUM"  # "1": its absence fails a test instead of skipping it
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_PATIENCE_S = 60.0
# The protocol's descriptors are 3 and 4; ours have other numbers, so a step between puts them there.
_LAUNCH = (
    "import fcntl, os, sys\n"
    "read, write = (fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3])\n"
    "os.dup2(read, 3), os.dup2(write, 4)\n"
    "os.execvp(sys.argv[3], sys.argv[3:])\n"
)
_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # a container's root cannot have one, and the pages are our own
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


def chromium_path() -> str | None:
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


@dataclass(frozen=True, slots=True)
class Look:
    """How a page is looked at."""

    width: int = 1280
    height: int = 900
    dark: bool = False

    @property
    def is_phone(self) -> bool:
        return self.width < 600


@dataclass(slots=True)
class Seen:
    """What the browser reported while a page was open."""

    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(f"console.{params['type']}: {params['args']}")
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("warning", "error"):
            self.complaints.append(f"{params['entry']['level']}: {params['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(params["message"])


class Page:
    """One open page."""

    def __init__(self, browser: "Browser", session: str) -> None:
        self.seen = Seen()
        self._browser, self._session = browser, session

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, self.seen, **params)

    def value(self, expression: str) -> Any:
        """What an expression evaluates to, as JSON."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise AssertionError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def press(self, key: str) -> None:
        codes = {"Tab": 9, "Enter": 13}
        at: dict[str, Any] = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **at, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **at)

    def picture(self, path: Path) -> None:
        """The whole page as a PNG, for a person's eye."""
        found = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))


class Browser:
    """One headless Chromium with a profile of its own in `home`."""

    def __init__(self, program: str, home: Path) -> None:
        ours_read, theirs_write = os.pipe()
        theirs_read, ours_write = os.pipe()
        command = [sys.executable, "-c", _LAUNCH, str(theirs_read), str(theirs_write), program]
        with (home / "chromium.log").open("wb") as log:
            self._process = subprocess.Popen(
                [*command, *_FLAGS, f"--user-data-dir={home / 'profile'}", "about:blank"],
                pass_fds=(theirs_read, theirs_write),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        os.close(theirs_read)
        os.close(theirs_write)
        self._read, self._write = ours_read, ours_write
        self._held, self._last_id = b"", 0

    def __enter__(self) -> "Browser":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._write)  # Chromium ends when its pipe does
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)

    @contextmanager
    def page(self, address: str, look: Look) -> Iterator[Page]:
        """A page that has been loaded and drawn, in a target of its own."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        size = {"width": look.width, "height": look.height, "deviceScaleFactor": 1}
        page.call("Emulation.setDeviceMetricsOverride", **size, mobile=look.is_phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if look.dark else "light"}
        page.call("Emulation.setEmulatedMedia", features=[scheme])
        page.call("Page.navigate", url=address)
        page.value(
            "new Promise(done => { const look = () => document.readyState === 'complete' && "
            "location.href !== 'about:blank' ? done(1) : setTimeout(look, 20); look(); })"
        )
        try:
            yield page
        finally:
            self.call("Target.closeTarget", targetId=target)

    def call(self, method: str, session: str | None = None, seen: Seen | None = None, **params: Any) -> dict[str, Any]:
        """Send one command and wait for its answer; what is reported meanwhile goes to `seen`."""
        self._last_id += 1
        message: dict[str, Any] = {"id": self._last_id, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._last_id:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])
            if seen is not None and answer.get("sessionId") == session and "method" in answer:
                seen.note(answer["method"], answer["params"])

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + _PATIENCE_S
        while b"\0" not in self._held:
            ready = select.select([self._read], [], [], max(0.0, until - time.monotonic()))[0]
            part = os.read(self._read, 1 << 16) if ready else b""
            if not part:
                raise AssertionError("Chromium ended" if ready else f"Chromium said nothing for {_PATIENCE_S:g} s")
            self._held += part
        first, _, self._held = self._held.partition(b"\0")
        return dict(json.loads(first))


def tabbed(page: Page, most: int = 200) -> Sequence[str]:
    """What Tab reaches, in order, until it leaves the page: 'tag#id.class|outline width' of each."""
    found: list[str] = []
    for _ in range(most):
        page.press("Tab")
        where = page.value(
            "(e => e === document.body ? '' : `${e.tagName.toLowerCase()}|${getComputedStyle(e).outlineStyle}`)"
            "(document.activeElement)"
        )
        if not where:
            return found
        found.append(where)
    return found
