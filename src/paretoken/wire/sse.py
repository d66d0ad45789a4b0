"""Bytes of an event stream → events, incrementally, wherever the reads cut them.

In: bytes. Out: (event name, data) pairs, data lines joined by a newline, after the rules of the WHATWG's "server-sent
events" (HTML standard, 9.2). Comments, ids and retry times are dropped. Line ends may be LF, CRLF or CR. An event
beyond the limit stops the splitter: memory stays bounded whatever is sent. JSON is none of its business.
"""

EVENT_LIMIT = 16 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"


class SseSplitter:
    def __init__(self, limit: int = EVENT_LIMIT) -> None:
        self.too_large = False
        self._limit = limit
        self._tail = bytearray()  # the unfinished line
        self._name = b""
        self._data: list[bytes] = []
        self._size = 0  # bytes of the unfinished event's data lines
        self._first_line = True
        self._lone_cr = False  # the last line end seen was a CR without LF
        self._skip_lf = False  # a line was ended by a CR that may yet turn out to be a CRLF
        self._over = False  # the last line ended an event

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """The events that `data` completes."""
        if self.too_large or not data:
            return []
        if self._skip_lf:
            self._skip_lf = False
            data = data.removeprefix(b"\n")
        events: list[tuple[bytes, bytes]] = []
        if b"\n" in data or b"\r" in data or self._tail.endswith(b"\r"):
            block = bytes(self._tail) + data
            lines = self._lines(block) if b"\r" in block else block.split(b"\n")
            self._tail = bytearray(lines.pop())
            for line in lines:
                self._take(line, events)
        else:  # no line ends here: appending only keeps byte-wise reads linear
            self._tail += data
        if len(self._tail) + self._size > self._limit:
            self._stop()
        return events

    @property
    def at_end(self) -> bool:
        """Whether the last thing that came was the end of an event."""
        return self._over and not self._tail

    def end(self) -> list[tuple[bytes, bytes]]:
        """At the end of the file: the last event as if its line end and its blank line had come."""
        events: list[tuple[bytes, bytes]] = []
        if self._tail:
            self._take(bytes(self._tail).removesuffix(b"\r"), events)
            self._tail.clear()
        self._take(b"", events)
        return events

    def _lines(self, block: bytes) -> list[bytes]:
        """Lines of a block with CRs in it; the last one is the unfinished rest.

        A CR at the very end ends its line at once only where the stream is known to use lone CRs; elsewhere it waits
        for its LF, because a blank line ends with its last byte.
        """
        pieces = block.splitlines(keepends=True)  # for bytes: LF, CR and CRLF, nothing else
        rest = b"" if pieces[-1].endswith(b"\n") else pieces.pop()
        if pieces:
            self._lone_cr = pieces[-1].endswith(b"\r")
        lines = [piece.rstrip(b"\r\n") for piece in pieces]
        if self._lone_cr and rest.endswith(b"\r"):
            lines.append(rest[:-1])
            rest = b""
            self._skip_lf = True
        lines.append(rest)
        return lines

    def _take(self, line: bytes, events: list[tuple[bytes, bytes]]) -> None:
        if self.too_large:
            return
        if self._first_line:
            self._first_line = False
            line = line.removeprefix(_BOM)
        self._over = not line and bool(self._data)
        if not line:
            if self._data:
                events.append((self._name, self._data[0] if len(self._data) == 1 else b"\n".join(self._data)))
                self._data = []
                self._size = 0
            self._name = b""
        elif line.startswith(b"data:"):
            self._add(line, line[6:] if line[5:6] == b" " else line[5:])
        elif not line.startswith(b":"):
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"event":
                self._name = value
            elif field == b"data":
                self._add(line, value)
            elif field == b"error":  # not in the standard: how older llama.cpp servers put an error into a stream
                self._name = b"error"
                self._add(line, value)

    def _add(self, line: bytes, value: bytes) -> None:
        self._size += len(line) + 1
        if self._size > self._limit:
            self._stop()
        else:
            self._data.append(value)

    def _stop(self) -> None:
        self.too_large = True
        self._tail.clear()
        self._data.clear()
