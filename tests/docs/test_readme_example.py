"""The Python example of the README runs as it stands."""

import re
from pathlib import Path

import pytest

from paretoken.core.candidate import Model

README = Path(__file__).parents[2] / "README.md"


def example() -> str:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len(blocks) == 1
    return str(blocks[0])


@pytest.mark.engine
def test_the_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], smollm2: Model
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(example(), "README.md", "exec"), {})
    assert "ms" in capsys.readouterr().out
