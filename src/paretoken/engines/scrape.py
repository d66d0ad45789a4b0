"""One look at a server's /metrics, within a bounded time.

Enters the address that requests go to; leaves a Scrape: the page and when it was looked at, or why there is none. A
server that has no such page is no error. Looked at before and after a run, never during it.
"""

import http.client
import re
import time
from dataclasses import dataclass

from paretoken.engines.exchange import exchange, what_happened
from paretoken.wire.prometheus import PAGE_BYTES, Page, parse
from paretoken.wire.url import parse_url

SCRAPE_S = 2.0
_ENDPOINT = re.compile(r"(/v\d[^/]*(/.*)?|/api(/(chat|generate|tags))?|/chat/completions|/completions|/models)?/?$")


@dataclass(frozen=True, slots=True)
class Scrape:
    """`page` is None exactly where `why` says why."""

    took_s: float
    page: Page | None
    why: str | None = None


def metrics_url(base_url: str) -> str:
    """Beside the API, under whatever prefix a gateway put before it: http://h:9/a/v1 → http://h:9/a/metrics."""
    address = parse_url(base_url)
    root = base_url.removesuffix(address.path) if address.path else base_url
    return f"{root}{_ENDPOINT.sub('', address.path, count=1)}/metrics"


def scrape(base_url: str, api_key: str | None = None, timeout_s: float = SCRAPE_S) -> Scrape:
    url, began_s = metrics_url(base_url), time.monotonic()
    page, why = None, None
    try:
        status, _, data = exchange(url, None, timeout_s=timeout_s, api_key=api_key, body_limit=PAGE_BYTES)
    except (OSError, http.client.HTTPException) as error:
        why = f"{url} did not answer ({what_happened(error)})"
    else:
        page = parse(data) if status == 200 else None
        if status != 200:
            why = f"{url} answers HTTP {status}"
        elif page is None or not page.samples:
            page, why = None, f"{url} shows no metrics"
    return Scrape(time.monotonic() - began_s, page, why)
