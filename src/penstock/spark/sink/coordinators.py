"""Sends many requests at a time to the coordinators of transactions and groups.

Requests are pipelined: a broker then writes two hundred ended transactions to its log together, not one by one.
Retriable errors (a coordinator that moves or loads, a transaction that is still ending, a broken connection) are
retried until the client's deadline.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from penstock.client.blocking.client import BlockingClient
from penstock.client.connection import Disconnected
from penstock.client.errors import Retry, error_name
from penstock.protocol.apis import APIS
from penstock.protocol.errors import ErrorCode, is_retriable

_IN_FLIGHT_MAX: Final = 100
"""Requests in flight to one broker: few enough to fit, with their responses, into the buffers of a socket."""


def error_code_of(response: Any) -> int:
    return int(response.error_code)


class RequestKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of request, the kind of coordinator that serves it, and how to get the error of a response."""

    coordinator: int
    api_key: int
    version_max: int
    error_of: Callable[[Any], int] = error_code_of


def call_coordinators(
    cluster: BlockingClient, kind: RequestKind, requests: Mapping[str, Any]
) -> dict[str, Any]:
    """Send each request to the coordinator of its key, and return responses whose errors are not retriable."""
    responses: dict[str, Any] = {}

    def attempt() -> None:
        by_broker: dict[tuple[str, int], list[str]] = {}
        for key in requests.keys() - responses.keys():
            by_broker.setdefault(cluster.coordinator(kind.coordinator, key), []).append(key)
        failure = ""
        for address, keys in by_broker.items():
            for first in range(0, len(keys), _IN_FLIGHT_MAX):
                part = {key: requests[key] for key in keys[first : first + _IN_FLIGHT_MAX]}
                for key, response in _call_broker(cluster, address, kind, part).items():
                    code = kind.error_of(response)
                    if not is_retriable(code):
                        responses[key] = response
                        continue
                    failure = f"{key} failed with {error_name(code)}"
                    if code != ErrorCode.CONCURRENT_TRANSACTIONS:
                        cluster.forget_coordinator(kind.coordinator, key)
        if failure:
            raise Retry(failure)

    cluster.until_done(APIS[kind.api_key].name, attempt)
    return responses


def _call_broker(
    cluster: BlockingClient, address: tuple[str, int], kind: RequestKind, requests: Mapping[str, Any]
) -> dict[str, Any]:
    try:
        with cluster.connection(address) as connection:
            version = connection.version(kind.api_key, kind.version_max)
            for request in requests.values():
                connection.send(kind.api_key, version, request)
            return {key: connection.receive() for key in requests}
    except Disconnected:
        for key in requests:
            cluster.forget_coordinator(kind.coordinator, key)
        raise
