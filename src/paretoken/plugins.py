"""Names → implementations, resolved lazily; third parties register as built-ins do.

A registry maps a name to "module:attribute" and imports only when asked. Entry points of the group
`paretoken.<kind>` add to it (and may not replace a built-in).
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from paretoken.errors import UsageError


class Registry:
    def __init__(self, kind: str, builtin: Mapping[str, str]) -> None:
        self.kind = kind
        self._builtin = dict(builtin)

    def names(self) -> list[str]:
        return sorted(self._places())

    def load(self, name: str) -> Any:
        """The object behind a name. Raises UsageError that lists what there is."""
        place = self._places().get(name)
        if place is None:
            raise UsageError(f"there is no {self.kind} '{name}'; there are: {', '.join(self.names())}")
        module, _, attribute = place.partition(":")
        return getattr(import_module(module), attribute)

    def _places(self) -> dict[str, str]:
        from importlib.metadata import entry_points  # 40 ms, which our engine programs can do without

        found = {point.name: point.value for point in entry_points(group=f"paretoken.{self.kind}")}
        return {**found, **self._builtin}
