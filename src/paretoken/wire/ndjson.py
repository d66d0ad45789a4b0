"""Bytes of newline-delimited JSON → lines, incrementally, wherever the reads cut them.

In: bytes. Out: the same pairs as an event stream's splitter, with an empty name. Blank lines are dropped; a line beyond
the limit stops the splitter. What a line means is none of its business.
"""

from paretoken.wire.sse import EVENT_LIMIT


class NdjsonSplitter:
    def __init__(self, limit: int = EVENT_LIMIT) -> None:
        self.too_large = False
        self._limit = limit
        self._tail = bytearray()  # the unfinished line
        self.at_end = False  # whether the last thing that came was the end of a line

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """The lines that `data` completes."""
        if self.too_large:
            return []
        if b"\n" not in data:  # appending only keeps byte-wise reads linear
            self._tail += data
            self.at_end = self.at_end and not data
            lines = []
        else:
            *lines, rest = (bytes(self._tail) + data).split(b"\n")
            self._tail = bytearray(rest)
            self.at_end = not rest and bool(lines[-1].strip())
        if len(self._tail) > self._limit or any(len(line) > self._limit for line in lines):
            self.too_large = True
            self._tail.clear()
            return []
        return [(b"", line) for line in map(bytes.strip, lines) if line]

    def end(self) -> list[tuple[bytes, bytes]]:
        """At the end of the file: the last line as if its newline had come."""
        line = bytes(self._tail).strip()
        self._tail.clear()
        return [(b"", line)] if line else []
