from collections.abc import Callable
from pathlib import Path

import pytest

from paretoken.core.candidate import Model
from paretoken.models.find import resolve

from ..models.gguf_builder import Gguf


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def model_of(tmp_path: Path, cache: Path) -> Callable[[Gguf], Model]:
    """Writes a built model to disk and finds it."""

    def write(built: Gguf) -> Model:
        path = tmp_path / "base.gguf"
        path.write_bytes(built.build())
        return resolve(str(path), cache)

    return write
