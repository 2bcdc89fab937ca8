"""Notifies the receivers of `on_failure` about failed queries."""

import socket
from collections.abc import Callable
from datetime import UTC, datetime

from penstock.spark.pipeline.delivery.outbox import Message
from penstock.spark.pipeline.progress.status import FAILED, QueryStatus, RunStatus


class FailureNotifier:
    """Called with the status about once a second: a query that failed since then is one message."""

    def __init__(self, put: Callable[[Message], None], *, restarts: bool) -> None:
        self._put = put
        self._restarts = restarts
        self._known: dict[str, int] = {}

    def __call__(self, status: RunStatus) -> None:
        for query in status.queries:
            if query.failures > self._known.get(query.name, 0):
                self._known[query.name] = query.failures
                if query.state == FAILED or self._restarts:
                    self._put(_message(status, query))


def _message(status: RunStatus, query: QueryStatus) -> Message:
    body = {
        "pipeline": status.pipeline,
        "query": query.name,
        "state": query.state,
        "isPermanent": query.state == FAILED,
        "reason": query.last_error,
        "failures": query.failures,
        "time": datetime.fromtimestamp(status.updated_ms / 1000, UTC).isoformat(),
        "file": status.file,
        "runId": status.run_id,
        "host": socket.gethostname(),
    }
    return Message(key=query.name, body=body)
