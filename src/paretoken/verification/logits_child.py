"""The process that loads models: `python -m paretoken.verification.logits_child`, started by logits.py only.

Enters one line of JSON on stdin, the plan; leave lines of JSON on stdout, one event each, the last `done` or `error`.
A model file is code-like, so this process is the only one that opens it with the engine: it can crash alone. It ends
itself when its stdin closes, which is how it learns that its parent is gone.
"""

import json
import os
import sys
import threading
from collections.abc import Mapping
from typing import Any, BinaryIO

from paretoken.verification import logits_jobs, service_job
from paretoken.verification.llama_abi import LayoutUnknown, Library
from paretoken.verification.llama_model import EngineRefused, LoadedModel, TokensDiffer

_JOBS = {"compare": logits_jobs.compare, "service": service_job.service, "answers": logits_jobs.answers}


def main() -> None:
    # The engine may print; the events keep stdout for themselves.
    events = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    plan = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def emit(event: dict[str, Any]) -> None:
        events.write(json.dumps(event).encode() + b"\n")
        events.flush()

    emit(_outcome(plan, emit))
    _leave(events)


def _outcome(plan: Mapping[str, Any], emit: logits_jobs.Emit) -> dict[str, Any]:
    try:
        library = Library(plan["library"])
    except LayoutUnknown as error:
        return {"event": "error", "kind": "layout", "message": str(error)}
    which = ""
    try:
        models = {}
        for which in ("baseline", "candidate"):
            if plan[which] is not None:
                emit({"event": "loading", "model": which})
                models[which] = LoadedModel(library, plan[which])
                emit({"event": "identity", "model": which, **models[which].identity()})
        which = ""
        for name, job in _JOBS.items():
            if plan[name] is not None:
                emit({"event": "job", "name": name})
                job(models, plan[name], emit)
    except TokensDiffer as error:
        return {"event": "error", "kind": "tokens", "message": str(error)}
    except EngineRefused as error:
        return {"event": "error", "kind": "refused", "model": which, "message": str(error)}
    return {"event": "done"}


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


def _leave(events: BinaryIO) -> None:
    """Ends at once: the engine's destructors have nothing to tell, and some of them are slow."""
    events.close()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
