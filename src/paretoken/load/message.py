"""A schedule's requests as the bytes that go out. The key comes from the environment and lives in memory only."""

import os

from paretoken.errors import EndpointError
from paretoken.load.schedule import Endpoint, Schedule
from paretoken.wire.http1 import bearer, request_head


def messages(schedule: Schedule) -> list[list[bytes]]:
    """For each endpoint: head and body of every request, in the schedule's order. Raises EndpointError when the key is
    not there."""
    headers = {**schedule.headers, **authorization(schedule.api_key_env)}
    return [
        [message(endpoint, "POST", headers, request.body.encode()) for request in schedule.requests]
        for endpoint in schedule.endpoints
    ]


def message(endpoint: Endpoint, method: str, headers: dict[str, str], body: bytes) -> bytes:
    return request_head(method, endpoint.path, endpoint.address.host_header, headers, len(body)) + body


def authorization(api_key_env: str | None) -> dict[str, str]:
    """The header that carries the key, nothing when no key is asked for. Raises UsageError for an impossible key."""
    if api_key_env is None:
        return {}
    key = os.environ.get(api_key_env, "").strip()
    if not key:
        raise EndpointError(f"the environment variable {api_key_env} holds no key; set it, or name another one")
    return bearer(key)
