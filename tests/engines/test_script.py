"""Scripts: from JSON and back, and refused by name when they make no sense."""

import json
from typing import Any

import pytest

from paretoken.engines.script import Script, ScriptedSettings
from paretoken.errors import UsageError


def test_settings_from_json() -> None:
    settings = ScriptedSettings.from_json({"scripts": [{"ttft_s": 1, "gap_s": [0.1, 0.2], "texts": ["a"]}]})
    assert settings.scripts == (Script(ttft_s=1, gap_s=(0.1, 0.2), texts=("a",)),)
    assert ScriptedSettings.from_json(json.loads(json.dumps(settings.as_json()))) == settings
    assert [settings.scripts[0].gap_before_s(i) for i in (1, 2, 3)] == [0.1, 0.2, 0.2]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"scripts": []}, "at least one"),
        ({"scripts": [{"ttft": 1}]}, "did you mean 'ttft_s'"),
        ({"scripts": [{"fault": "explode"}]}, "error_event"),
        ({"scripts": [{"gap_s": [-1]}]}, "seconds"),
        ({"scripts": [{"status": "ok"}]}, "whole number"),
        ({"slots": 0}, "slots is 0"),
        ({"death": "slow"}, "segv"),
        ({"refuse_s": True}, "refuse_s"),
    ],
)
def test_settings_that_make_no_sense(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ScriptedSettings.from_json(given)
