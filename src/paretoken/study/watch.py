"""What the server and this machine say of the very time in which a run's requests were measured.

Enters something that runs; looks at it once before the run, to know whether it shows metrics that we can read, and then
at both ends of the measured part. Leaves a Seen: two parts of a result's JSON, and what contradicts the records.
Nothing is looked at in between (decision rule 3). A look that fails is a reason, not an error.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from paretoken.core.record import Record
from paretoken.engines.base import Running
from paretoken.engines.scrape import Scrape, scrape
from paretoken.load.run import LoadResult
from paretoken.metrics.latency import measured
from paretoken.metrics.server_window import window_between
from paretoken.study.host import HostWatch
from paretoken.units import ms
from paretoken.verification.server_beside import beside, by_answers
from paretoken.wire.server_metrics import Dialect, dialect_of

MEASURED = "from just before the first measured request to just after the last one"
WHOLE = "the whole run, its warm-up included"


@dataclass(frozen=True, slots=True)
class Seen:
    server: Mapping[str, Any]
    host: Mapping[str, Any]
    contradictions: tuple[str, ...] = ()
    restarted: bool = False
    rested: bool = False  # a stated duration then is that of the measured part


class Watch:
    """`opening` and `closing` are handed to load.run."""

    def __init__(self, running: Running, api_key_env: str | None) -> None:
        self._running = running
        self._key = os.environ.get(api_key_env, "").strip() or None if api_key_env else None
        self._host = HostWatch(running)
        self._before: Scrape | None = None
        self._after: Scrape | None = None
        self._dialect: Dialect | None = None
        self._why: str | None = None
        if len(running.parts) > 1:
            self._why = "each replica has metrics of its own"
            return
        first = self._look()
        self._why = first.why
        if first.page is not None:
            self._dialect = dialect_of(first.page)
            if self._dialect is None:
                self._why = "its /metrics are of no server that is known here"

    @property
    def reads_metrics(self) -> bool:
        """Only then is it worth resting between warm-up and measured part."""
        return self._dialect is not None

    def opening(self) -> None:
        if self._dialect is not None:
            self._before = self._look()
        self._host.opening()  # last: reading a page is no part of the window

    def closing(self) -> None:
        self._host.closing()
        if self._dialect is not None:
            self._after = self._look()

    def _look(self) -> Scrape:
        return scrape(self._running.base_url, self._key)

    def seen(self, result: LoadResult) -> Seen:
        """Once the records are known."""
        rest = result.facts.get("rest")
        rested = isinstance(rest, Mapping)
        warm = any(record.warmup for record in result.records)
        apart = rested or not warm
        records = measured(result.records) if apart else list(result.records)
        host = self._host.seen(records, _client_cpu_s(result, rest if rested else None))
        host = {"window": MEASURED if apart else WHOLE, **host}
        answers = measured(result.records)
        why = self._why_not(rest if rested else None, apart)
        if why is not None or self._dialect is None:
            empty = {"name": None if self._dialect is None else self._dialect.name, "reason": why}
            shown = {**empty, "beside": beside(None, answers).as_json(), "by_answers": by_answers(answers)}
            return Seen(shown, host, rested=rested)
        return replace(self._compared(records, host), rested=rested)

    def _why_not(self, rest: Mapping[str, Any] | None, apart: bool) -> str | None:
        if self._why is not None:
            return self._why
        if rest is not None and rest.get("told") is not True:
            return "the run did not wait for the look at the server's metrics: it took too long"
        if not apart:
            return "the warm-up was not over before the server's metrics could be looked at"
        for when, look in (("before", self._before), ("after", self._after)):
            if look is None or look.page is None:
                return (
                    f"not known {when} the measured requests: {'the run was cut short' if look is None else look.why}"
                )
        return None

    def _compared(self, records: list[Record], host: Mapping[str, Any]) -> Seen:
        before, after, dialect = self._before, self._after, self._dialect
        assert before is not None and before.page is not None and after is not None and after.page is not None
        assert dialect is not None
        window = window_between(before.page, after.page, dialect)
        found = beside(None if window.restarted else window, records)
        server = {
            "name": dialect.name,
            "tried": dialect.tried,
            "window": MEASURED,
            "reason": window.restarted,
            **window.as_json(),
            "looks_took_ms": [ms(before.took_s), ms(after.took_s)],
            "beside": found.as_json(),
            "by_answers": by_answers(records),
        }
        return Seen(server, host, found.contradictions, window.restarted is not None)


def _client_cpu_s(result: LoadResult, rest: Mapping[str, Any] | None) -> float | None:
    if result.client_cpu_s is None or rest is None:
        return result.client_cpu_s
    return max(0.0, result.client_cpu_s - float(rest.get("cpu_s", 0.0)))
