"""The text that a server's /metrics answers with: Prometheus' exposition format, and OpenMetrics' as far as they agree.

Enters the page's bytes; leaves a Page: the samples by name and labels, and how many lines were none. It never raises:
what can be read is read, within bounds on the page, a line and the number of samples. It knows no server's names, and
attaches no meaning to a number.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

PAGE_BYTES = 64 << 20
LINE_CHARACTERS = 64 << 10
MOST_SAMPLES = 500_000

Labels = tuple[tuple[str, str], ...]  # sorted by name

_SAMPLE = re.compile(
    r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)[ \t]*"
    r'(?:\{(?P<labels>(?:[^"}]|"(?:[^"\\]|\\.)*")*)\}[ \t]*|[ \t])'
    r"(?P<value>[^ \t]+)"
    r"(?:[ \t]+-?[0-9]+(?:\.[0-9]*)?)?"  # a timestamp: whose clock it is, is not said, so it is not used
    r"(?:[ \t]+#.*)?"  # OpenMetrics' exemplar
)
_LABEL = re.compile(r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*(,|$)')
_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", '"': '"', "\\": "\\"}


@dataclass(frozen=True, slots=True)
class Buckets:
    """One histogram, its label sets added up. `cumulative[i]` observations were at most `bounds[i]`; the last bound may
    be infinite."""

    bounds: tuple[float, ...]
    cumulative: tuple[float, ...]
    count: float
    sum: float


@dataclass(frozen=True, slots=True)
class Page:
    samples: Mapping[str, Mapping[Labels, float]]
    malformed: int  # lines that say nothing readable, or say a sample twice
    truncated: bool  # the page was longer than what is read

    def series(self, name: str, where: Labels = ()) -> dict[Labels, float]:
        """The samples of this name that carry all the labels of `where`. A counter may be named with or without
        OpenMetrics' `_total`."""
        other = name.removesuffix("_total") if name.endswith("_total") else f"{name}_total"
        found = self.samples.get(name) or self.samples.get(other) or {}
        return {labels: value for labels, value in found.items() if set(where) <= set(labels)}

    def total(self, name: str, where: Labels = ()) -> float | None:
        """Over all label sets. None where there is no such sample, or one that is not a finite number."""
        values = self.series(name, where).values()
        total = sum(values)
        return total if values and abs(total) < float("inf") else None

    def histogram(self, name: str, where: Labels = ()) -> Buckets | None:
        """None where it lacks its count or its sum. Of label sets with different buckets those are kept that all have.
        Counts that fall from one bucket to the next are no histogram."""
        count, total = self.total(f"{name}_count", where), self.total(f"{name}_sum", where)
        if count is None or total is None:
            return None
        rows: dict[Labels, dict[float, float]] = {}
        for labels, value in self.series(f"{name}_bucket", where).items():
            bound = _number(dict(labels).get("le", ""))
            if bound is not None:
                rows.setdefault(tuple(pair for pair in labels if pair[0] != "le"), {})[bound] = value
        common = sorted(set.intersection(*(set(row) for row in rows.values()))) if rows else []
        cumulative = [sum(row[bound] for row in rows.values()) for bound in common]
        if any(later < earlier for earlier, later in pairwise(cumulative)):
            return None
        return Buckets(tuple(common), tuple(cumulative), count, total)


def parse(data: bytes) -> Page:
    text = data[:PAGE_BYTES].decode("utf-8", errors="replace")
    samples: dict[str, dict[Labels, float]] = {}
    read = malformed = 0
    truncated = len(data) > PAGE_BYTES
    for line in _lines(text):
        if line == "# EOF":
            break
        if not line or line.startswith("#"):
            continue
        if read == MOST_SAMPLES:
            truncated = True
            break
        sample = _sample(line)
        if sample is None or sample[1] in samples.get(sample[0], {}):
            malformed += 1
            continue
        name, labels, value = sample
        samples.setdefault(name, {})[labels] = value
        read += 1
    return Page(samples, malformed, truncated)


def _lines(text: str) -> Iterator[str]:
    """One at a time: a list of all lines would double the memory."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin)
        end = len(text) if end < 0 else end
        # A line that is too long is handed on too long by one, so that it is counted and never matched.
        yield text[begin : min(end, begin + LINE_CHARACTERS + 1)].strip(" \t\r")
        begin = end + 1


def _sample(line: str) -> tuple[str, Labels, float] | None:
    match = _SAMPLE.fullmatch(line) if len(line) <= LINE_CHARACTERS else None
    if match is None:
        return None
    value, labels = _number(match["value"]), _labels(match["labels"] or "")
    return None if value is None or labels is None else (match["name"], labels, value)


def _labels(text: str) -> Labels | None:
    """None for what is no list of labels, or names one twice. A comma at the end is allowed."""
    text = text.strip(" \t")
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _LABEL.match(text, at)
        if match is None or match[1] in found:
            return None
        found[match[1]] = _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[0]), match[2])
        at = match.end()
    return tuple(sorted(found.items()))


def _number(text: str) -> float | None:
    """Python's own float() would also take 1_000."""
    return float(text) if _NUMBER.fullmatch(text) else None
