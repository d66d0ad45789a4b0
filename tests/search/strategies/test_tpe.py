import sys

import pytest

from paretoken.errors import MissingExtraError
from paretoken.search.strategies.tpe import Tpe

from ..conformance import StrategyConformance
from ..surfaces import problem_of, surface


class TestTpe(StrategyConformance):
    strategy = Tpe


def test_without_optuna_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"'search': pip install .*search"):
        Tpe(problem_of(surface(0)))
