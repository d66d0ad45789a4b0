"""A whole study on the scripted engine in a process of its own, with few short blocks: python small_study.py HOME MODEL
[resume]. It prints the study's ID when it has ended."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paretoken.engines.script import Script, ScriptedSettings
from paretoken.engines.scripted import Scripted
from paretoken.study import plan as plan_module
from paretoken.study.optimize import optimize


@dataclass(frozen=True)
class Steady(ScriptedSettings):
    """An answer that takes a little time, so that there is something to compare."""

    scripts: Any = (Script(ttft_s=0.01, gap_s=0.003),)
    slots: int | None = 1


def main(home: str, model: str, resume: str | None = None) -> None:
    Scripted.settings_type = Steady
    plan_module.FINAL_BLOCKS = 2
    plan_module.final_requests = lambda _slo=(): 8  # type: ignore[assignment]
    study = optimize(
        model,
        concurrency=2,
        output_tokens=4,
        budget="3 trials",
        engine="scripted",
        home=Path(home),
        resume="" if resume else None,
    )
    print(study.id)


if __name__ == "__main__":
    main(*sys.argv[1:])
