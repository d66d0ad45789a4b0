"""Names for runs and studies: ULIDs, 26 letters that sort by time and are safe as a path's part.

A name that a user gives is compared with the alphabet and never joined to a path otherwise.
"""

import os
import re
import time

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID = re.compile(rf"[0-7][{_ALPHABET}]{{25}}")
_RANDOM_BYTES = 10


def new_ulid(now_ms: int | None = None) -> str:
    """48 bits of milliseconds since 1970, then 80 random bits."""
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    number = (now_ms << (8 * _RANDOM_BYTES)) | int.from_bytes(os.urandom(_RANDOM_BYTES))
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))


def is_ulid(text: str) -> bool:
    return _ULID.fullmatch(text) is not None
