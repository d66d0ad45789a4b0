"""The program behind the null and the scripted engine: an HTTP server that answers as its script says.

Enters, on stdin, the JSON of a ScriptedSettings and where to listen; leaves OpenAI chat and completion streams whose
chunks are written when they are due (absolute times, so delays do not add up; about 1 ms fine). Makes no text of
its own worth reading.
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from paretoken.engines.child import KEY_VARIABLE, orders, report_url
from paretoken.engines.script import Script, ScriptedSettings
from paretoken.engines.scripted_metrics import Counted

_HEAD_BYTES = 64 << 10
_BODY_BYTES = 16 << 20
_PATHS = {"/v1/chat/completions": "chat.completion.chunk", "/v1/completions": "text_completion"}


class Hangup(Exception):
    """The script wants this connection to end now."""


@dataclass(frozen=True, slots=True)
class Asked:
    method: str
    path: str
    authorization: str
    body: Any  # the JSON, or None


class ScriptedServer:
    def __init__(self, settings: ScriptedSettings, model_name: str) -> None:
        self.settings = settings
        self.model_name = model_name
        self.key = os.environ.get(KEY_VARIABLE)
        self.loop = asyncio.get_running_loop()
        self.started_at = self.loop.time()
        self.requests = 0  # streamed ones
        self.active = 0
        self.counted = Counted(settings.metrics == "lie")
        self.slots: AbstractAsyncContextManager[Any] = (
            asyncio.Semaphore(settings.slots) if settings.slots else contextlib.nullcontext()
        )

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, with as many requests as it brings."""
        try:
            while (asked := await _read_request(reader)) is not None:
                if not await self.answer(asked, reader, writer):
                    break
        except (ConnectionError, Hangup):
            pass  # the client left, or the script said so: not an error of this server
        finally:
            writer.close()

    async def answer(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answers one request; True when the connection can be used again."""
        path, body = asked.path, asked.body
        age_s = self.loop.time() - self.started_at
        if self.settings.web_page:
            return await _whole(writer, 200, "<html>hello</html>", kind="text/html")
        if path == "/health":
            return await _whole(writer, 200 if age_s >= self.settings.health_after_s else 503, {"status": "scripted"})
        if path == "/v1/models":
            return await _whole(writer, 200, {"object": "list", "data": [{"id": self.model_name, "object": "model"}]})
        if self.key and asked.authorization != f"Bearer {self.key}":
            return await _whole(writer, 401, {"error": {"message": "another key is needed"}})
        if path == "/metrics" and self.settings.metrics != "none":
            return await _whole(writer, 200, self.counted.page(self.model_name, self.active), kind="text/plain")
        if path not in _PATHS or asked.method != "POST":
            return await _whole(writer, 404, {"error": {"message": f"no {asked.method} {path}"}})
        if not isinstance(body, dict):
            return await _whole(writer, 400, {"error": {"message": "the body is not a JSON object"}})
        if age_s < self.settings.ready_after_s:
            return await _whole(writer, 503, {"error": {"message": "Loading model"}})
        if not body.get("stream"):
            return await _whole(writer, 200, self.whole_completion(path))
        self.active += 1
        try:
            number, self.requests = self.requests, self.requests + 1
            if self.requests == self.settings.die_at_request or self.active == self.settings.die_at_concurrent:
                die(self.settings.death)
            async with self.slots:
                script = self.settings.scripts[number % len(self.settings.scripts)]
                return await Stream(self, script, path, body, reader, writer).run()
        finally:
            self.active -= 1

    def whole_completion(self, path: str) -> dict[str, Any]:
        said = {"text": " w0"} if path == "/v1/completions" else {"message": {"role": "assistant", "content": " w0"}}
        return {
            "object": _PATHS[path].removesuffix(".chunk"),
            "model": self.model_name,
            "choices": [{"index": 0, "finish_reason": "length", **said}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }


class Stream:
    """One streamed answer, played from its script."""

    def __init__(
        self,
        server: ScriptedServer,
        script: Script,
        path: str,
        body: Mapping[str, Any],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.server, self.script, self.path, self.body = server, script, path, body
        self.reader, self.writer = reader, writer
        self.began_at = server.loop.time()
        self.pending: list[bytes] = []
        self.chunk_s: list[float] = []

    async def run(self) -> bool:
        script, asked = self.script, int(self.body.get("max_tokens") or 16)
        if script.fault == "close":
            raise Hangup
        if script.fault == "html":
            return await _whole(self.writer, 200, "<html>hello</html>", kind="text/html")
        if script.status != 200:
            await self._sleep_until(script.ttft_s)
            return await _whole(self.writer, script.status, {"error": {"message": "scripted", "code": script.status}})
        texts = script.chunks(asked)
        self._head()
        role = script.role if self.path == "/v1/chat/completions" else "none"
        if role == "at_once":
            self._event(self._delta({"role": "assistant", "content": None}))
            self._flush()
        due_s = script.ttft_s
        for i, text in enumerate(texts):
            due_s += script.gap_before_s(i) if i else 0.0
            await self._fault(i)
            await self._sleep_until(due_s if (i + 1) % script.chunks_per_write == 0 or i + 1 == len(texts) else 0.0)
            if i == 0 and role == "with_first":
                self._event(self._delta({"role": "assistant", "content": None}))
            self._event(self._delta({"content": text}))
            self.chunk_s.append(self.server.loop.time())
            if (i + 1) % script.chunks_per_write == 0:
                await self._flush_and_drain()
        await self._flush_and_drain()
        await self._fault(len(texts))
        return await self._finish(script.tokens(asked))

    async def _finish(self, tokens: int) -> bool:
        script = self.script
        self._event(self._delta({}, script.finish_reason or ("length" if script.texts is None else "stop")))
        prompt = len(json.dumps(self.body.get("messages") or self.body.get("prompt") or "").split())
        # Counted before the last bytes leave: whoever has the whole answer finds it counted.
        self.server.counted.answered(prompt, tokens, self.began_at, self.chunk_s, self.server.loop.time())
        if script.usage != "none" and (self.body.get("stream_options") or {}).get("include_usage"):
            said = tokens * 2 if script.usage == "lie" else tokens
            usage = {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}
            self._event({**self._frame(), "choices": [], "usage": usage})
        if script.done_marker:
            self.pending.append(b"data: [DONE]\n\n")
        await self._flush_and_drain()
        if script.fault == "stall_after_done":
            await self._until_client_leaves()
        if script.framing == "close":
            return False
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()
        return True

    async def _fault(self, chunks_said: int) -> None:
        fault = self.script.fault
        if fault in ("none", "stall_after_done") or chunks_said != self.script.fault_after:
            return
        if fault == "malformed":
            self.pending.append(b"data: {this is not JSON\n\n")
            return
        if fault == "error_event":
            self._event({"error": {"message": "scripted error", "type": "server_error", "code": 500}})
        await self._flush_and_drain()
        if fault == "error_event" and self.script.framing == "chunked":
            self.writer.write(b"0\r\n\r\n")  # the body ends as it should; only what it says is an error
        if fault == "stall":
            await self._until_client_leaves()
        if fault in ("exit", "segv", "oom"):
            die(fault)
        if fault == "reset":
            # Linger with no time: the kernel then sends RST instead of FIN.
            connection = self.writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.writer.transport.abort()
        raise Hangup

    async def _until_client_leaves(self) -> None:
        await self.reader.read()
        raise Hangup

    async def _sleep_until(self, since_start_s: float) -> None:
        wait_s = self.began_at + since_start_s - self.server.loop.time()
        if wait_s > 0:
            await asyncio.sleep(wait_s)

    def _head(self) -> None:
        framing = "Transfer-Encoding: chunked" if self.script.framing == "chunked" else "Connection: close"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n{framing}\r\n\r\n"
        self.writer.write(head.encode())

    def _frame(self) -> dict[str, Any]:
        return {"object": _PATHS[self.path], "model": self.server.model_name}

    def _delta(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        said = {"text": delta.get("content") or ""} if self.path == "/v1/completions" else {"delta": delta}
        return {**self._frame(), "choices": [{"index": 0, **said, "finish_reason": finish}]}

    def _event(self, event: dict[str, Any]) -> None:
        self.pending.append(b"data: " + json.dumps(event).encode() + b"\n\n")

    def _flush(self) -> None:
        data = b"".join(self.pending)
        self.pending.clear()
        if data:
            self.writer.write(b"%x\r\n%b\r\n" % (len(data), data) if self.script.framing == "chunked" else data)

    async def _flush_and_drain(self) -> None:
        self._flush()
        await self.writer.drain()


async def _read_request(reader: asyncio.StreamReader) -> Asked | None:
    """None at the end of the connection, or on what is not HTTP with a JSON body of a stated length."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", "0"))
        data = await reader.readexactly(length) if 0 < length <= _BODY_BYTES else b""
        body = json.loads(data) if data else None
        return Asked(method, path.partition("?")[0], headers.get("authorization", ""), body)
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, RecursionError):
        return None


async def _whole(
    writer: asyncio.StreamWriter, status: int, body: dict[str, Any] | str, kind: str = "application/json"
) -> bool:
    data = (body if isinstance(body, str) else json.dumps(body)).encode()
    writer.write(f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
    await writer.drain()
    return True


def die(how: str) -> None:
    sys.stderr.write("out of memory: could not get 1073741824 bytes\n" if how == "oom" else f"scripted end: {how}\n")
    sys.stderr.flush()
    if how == "segv":
        os.kill(os.getpid(), signal.SIGSEGV)
    os._exit(3)


async def serve(given: Mapping[str, Any]) -> None:
    settings = ScriptedSettings.from_json(given["settings"])
    # Bound but not yet listening: the port is known and refuses connections.
    family = socket.AF_INET6 if ":" in given["host"] else socket.AF_INET
    # asyncio switches Nagle's algorithm off only for sockets that say TCP aloud; with it a chunk on a kept connection
    # waits for the client's delayed acknowledgement, 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((given["host"], given["port"]))
    server = ScriptedServer(settings, given["model_name"])
    shown = f"[{given['host']}]" if family == socket.AF_INET6 else given["host"]
    report_url(f"http://{shown}:{listener.getsockname()[1]}")
    await asyncio.sleep(settings.refuse_s)
    listening = await asyncio.start_server(server.handle, sock=listener, limit=_HEAD_BYTES, backlog=1024)
    await listening.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(orders()))
