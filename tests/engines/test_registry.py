"""Names → engines; and the table of those that were never run."""

import pytest

from paretoken.engines import ENGINES
from paretoken.engines.base import Settings
from paretoken.engines.untested import UNTESTED
from paretoken.errors import UsageError
from paretoken.wire import PROTOCOLS


def test_every_engine_loads_under_its_name() -> None:
    assert {"llamacpp", "null", "scripted"} <= set(ENGINES.names())
    for name in ENGINES.names():
        engine = ENGINES.load(name)()
        assert engine.name == name
        assert issubclass(engine.settings_type, Settings)


def test_an_unknown_engine_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="there is no engine 'vllm'; there are: llamacpp, null, scripted"):
        ENGINES.load("vllm")


def test_untested_engines_are_rows_only() -> None:
    for row in UNTESTED:
        assert row.name not in ENGINES.names()
        assert row.as_json()["tested"] is False
        assert row.protocol in PROTOCOLS.names()
