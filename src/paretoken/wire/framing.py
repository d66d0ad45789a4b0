"""Where a response ends, for the loop that has no time to read it: HTTP/1.1 framing, as cheap as it can be.

In: what the socket gave, in any cut. Out: the same properties as ResponseReader, which does the real work: it reads the
head, and everything out of the ordinary. In between, chunks of a chunked body are skipped by their size line; the
parser stands at a chunk's edge meanwhile, and goes on from there at the first read that is not made of whole ordinary
chunks. What is skipped is read in full after the run.
"""

from paretoken.wire.http1 import ResponseReader

LINE_LIMIT = 9  # an ordinary chunk's size line: seven digits and its end
chunk_ends: dict[bytes, int] = {}  # size line → bytes of the whole chunk: a stream has few sizes, and each read asks
_KNOWN_ENDS = 4096

_HEAD_END = b"\r\n\r\n"
_ZERO = ord("0")


class ResponseEnd:
    __slots__ = ("_carry", "_left", "_reader", "_skipping", "whole")

    def __init__(self) -> None:
        self.whole = False  # the last read was one chunk, from its size line to its end
        self._reader = ResponseReader(keep_body=False)
        self._carry = b""  # the end of what came, while the head is not complete
        self._skipping = False
        self._left = 0  # bytes of the chunk that is being skipped

    @property
    def complete(self) -> bool:
        return self._reader.complete

    @property
    def error(self) -> str | None:
        return self._reader.error

    @property
    def status(self) -> int | None:
        return self._reader.status

    @property
    def keep_alive(self) -> bool:
        return self._reader.keep_alive

    def eof(self) -> None:
        self._reader.eof()

    def feed(self, data: bytes) -> bool:
        """Take what one read gave; True once the response is over, well or not."""
        if not self._skipping:
            return self._read(data)
        position, size = self._left, len(data)
        self.whole = not position
        while position < size:
            line_end = data.find(b"\r\n", position + 1, position + LINE_LIMIT)
            line = data[position:line_end]
            length = line_end > 0 and (chunk_ends.get(line) or _chunk_end(line))
            if not length:  # out of the ordinary, or cut
                return self._hand_over(data[position:])
            self.whole = self.whole and not position
            position += length
        self._left = position - size
        self.whole = self.whole and not self._left
        return False

    @property
    def at_edge(self) -> bool:
        """Whether a chunk ends where the last read ended, and nothing but chunks is expected."""
        return self._skipping and not self._left

    def _hand_over(self, rest: bytes) -> bool:
        """From a chunk's edge on the parser reads again, to the end."""
        self._skipping = self.whole = False
        self._left = 0
        return self._parse(rest)

    def _read(self, data: bytes) -> bool:
        """The head, and every body that is not skipped."""
        self.whole = False
        if self._headed():
            return self._parse(data)
        before = len(self._carry)
        block = self._carry + data
        edge = block.find(_HEAD_END)
        while edge >= 0:  # interim responses have heads too
            cut = edge + len(_HEAD_END) - before
            if self._parse(data[:cut]):
                return True
            data, before = data[cut:], 0
            if self._headed():
                self._carry = b""
                self._skipping = self._reader.chunked
                return self.feed(data) if data else False
            edge = data.find(_HEAD_END)
            block = data
        self._carry = block[-3:]
        return self._parse(data) if data else False

    def _headed(self) -> bool:
        return self._reader.status is not None

    def _parse(self, data: bytes) -> bool:
        self._reader.feed(data)
        return self._reader.complete or self._reader.error is not None


def _chunk_end(line: bytes) -> int:
    """The bytes of the chunk that begins with this size line, its line ends included. 0: for the parser to say."""
    if not line.isalnum() or line[0] == _ZERO or len(line) > LINE_LIMIT - 2:
        return 0
    try:
        length = len(line) + 4 + int(line, 16)
    except ValueError:
        return 0
    if len(chunk_ends) < _KNOWN_ENDS:
        chunk_ends[line] = length
    return length
