"""The line that `serve` offers for copying."""

import shlex
from pathlib import Path

from paretoken.cli.serve import for_copying


def test_a_home_folder_is_a_tilde_that_a_shell_expands() -> None:
    line = for_copying(["llama-server", "--model", f"{Path.home()}/a b/m.gguf", "--port", "8000"])
    assert line == "llama-server --model ~/'a b/m.gguf' --port 8000"
    assert str(Path.home()) not in line
    assert shlex.split(line)[2] == "~/a b/m.gguf"
