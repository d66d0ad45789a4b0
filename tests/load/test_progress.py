"""A line of progress, there and back."""

from paretoken.load.progress import Progress, from_line, to_line


def test_there_and_back() -> None:
    progress = Progress(elapsed_s=1.5, started=7, ended=4, scheduled=20, read_bytes=900)
    assert from_line(to_line(progress)) == progress
    assert progress.in_flight == 3


def test_a_torn_line_is_no_progress() -> None:
    line = to_line(Progress(elapsed_s=1.5, started=7, ended=4, scheduled=20, read_bytes=900))
    assert [from_line(line[:cut]) for cut in (0, 5, len(line) - 3)] == [None] * 3
