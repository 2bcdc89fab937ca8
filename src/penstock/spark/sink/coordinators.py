"""Questions to the coordinators of transactions and groups, many at a time.

Ending two hundred transactions one after the other would take two hundred times as long as one; asked in one go, the
broker writes them to its log together. What passes (a coordinator that moves or loads, a transaction that is still
being ended, a connection that broke) is asked again until the client's deadline.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from penstock.client.blocking.cluster import Cluster
from penstock.client.blocking.retry import Retry
from penstock.client.connection import Disconnected
from penstock.client.errors import error_name
from penstock.protocol.apis import APIS
from penstock.protocol.errors import ErrorCode, is_retriable

_AT_ONCE_MAX: Final = 100
"""Requests on their way to one broker: few enough to fit, with their answers, into the buffers of a socket."""


def error_code_of(answer: Any) -> int:
    return int(answer.error_code)


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked, of coordinators of which `kind`, and where an answer has its error."""

    kind: int
    api_key: int
    version_max: int
    error_of: Callable[[Any], int] = error_code_of


def ask(cluster: Cluster, question: Question, requests: Mapping[str, Any]) -> dict[str, Any]:
    """Send each request to the coordinator of its key. An answer's error, if it has one, is not one that passes."""
    answered: dict[str, Any] = {}

    def attempt() -> None:
        by_broker: dict[tuple[str, int], list[str]] = {}
        for key in requests.keys() - answered.keys():
            by_broker.setdefault(cluster.coordinator(question.kind, key), []).append(key)
        failure = ""
        for address, keys in by_broker.items():
            for first in range(0, len(keys), _AT_ONCE_MAX):
                part = {key: requests[key] for key in keys[first : first + _AT_ONCE_MAX]}
                for key, answer in _ask(cluster, address, question, part).items():
                    code = question.error_of(answer)
                    if not is_retriable(code):
                        answered[key] = answer
                        continue
                    failure = f"{key} was answered with {error_name(code)}"
                    if code != ErrorCode.CONCURRENT_TRANSACTIONS:
                        cluster.forget_coordinator(question.kind, key)
        if failure:
            raise Retry(failure)

    cluster.until_done(APIS[question.api_key].name, attempt)
    return answered


def _ask(
    cluster: Cluster, address: tuple[str, int], question: Question, requests: Mapping[str, Any]
) -> dict[str, Any]:
    try:
        with cluster.connection(address) as connection:
            version = connection.version(question.api_key, question.version_max)
            for request in requests.values():
                connection.send(question.api_key, version, request)
            return {key: connection.receive() for key in requests}
    except Disconnected:
        for key in requests:
            cluster.forget_coordinator(question.kind, key)
        raise
