"""Paretoken makes a language model answer sooner and cost less, and proves it."""

from typing import TYPE_CHECKING, Any

from paretoken.version import __version__ as __version__

# Public name → the module that holds it; resolved on first use so that `import paretoken` stays light.
_PUBLIC = {
    "Candidate": "paretoken.core.candidate",
    "measure": "paretoken.study.measure",
    "optimize": "paretoken.study.optimize",
    "trace": "paretoken.study.trace",
    "verify": "paretoken.verification.verify",
}

__all__ = ["Candidate", "measure", "optimize", "trace", "verify"]

if TYPE_CHECKING:
    from paretoken.core.candidate import Candidate
    from paretoken.study.measure import measure
    from paretoken.study.optimize import optimize
    from paretoken.study.trace import trace
    from paretoken.verification.verify import verify


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        from importlib import import_module

        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'paretoken' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
