"""Whether a result document says what it is: its schema, its definitions, where its numbers come from.

Enters the document; leaves the names of what it does not say, which the page shows instead of staying silent.
"""

from collections.abc import Mapping
from typing import Any

from paretoken.report.figures import mapping

SCHEMA = 1  # the newest that this report knows
_PROVENANCE = (
    "tool_version",
    "started_at",
    "hardware",
    "engine",
    "engine_version",
    "model",
    "load_mode",
    "percentile_method",
    "clock",
)


def unsaid(result: Mapping[str, Any]) -> list[str]:
    """Empty for a document that says everything."""
    found = []
    schema = result.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool):
        found.append("schema")
    elif schema > SCHEMA:
        found.append(f"schema {schema} is newer than this report, which knows {SCHEMA}")
    if not mapping(result.get("definitions")):
        found.append("definitions")
    held = mapping(result.get("provenance"))
    return found + [f"provenance.{name}" for name in _PROVENANCE if held.get(name) in (None, "", {})]
