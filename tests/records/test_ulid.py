"""Names of runs."""

import pytest

from paretoken.records.ulid import is_ulid, new_ulid


def test_names_are_ulids_and_differ() -> None:
    names = {new_ulid() for _ in range(1000)}
    assert len(names) == 1000
    assert all(map(is_ulid, names))


def test_names_sort_by_time() -> None:
    assert new_ulid(0)[:10] == "0" * 10
    assert new_ulid(1_796_000_000_000) < new_ulid(1_796_000_000_001)
    assert new_ulid(2**48 - 1)[:10] == "7ZZZZZZZZZ"


ZEROS = "0" * 25


@pytest.mark.parametrize(
    "text", ["", "..", "../../etc/passwd", ZEROS, ZEROS + "00", "8" + ZEROS, "I" + ZEROS, *(ZEROS + c for c in "l\n/")]
)
def test_nothing_else_is_one(text: str) -> None:
    assert not is_ulid(text)
