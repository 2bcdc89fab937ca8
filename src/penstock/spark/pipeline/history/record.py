"""Records the runs of a pipeline in a topic.

Each record is the JSON of a `RunStatus`, under the id of the run as its key: at the begin, when a query
fails, every minute, and at the end. The topic is compacted, so that the last status of each run remains, and
runs older than `_RETENTION_MS` are removed.
"""

from collections.abc import Callable

import msgspec

from penstock.spark.pipeline.core.model import NO_HISTORY, Pipeline
from penstock.spark.pipeline.delivery.outbox import Message
from penstock.spark.pipeline.progress.status import FAILED, RunStatus

INTERVAL_MS = 60_000
_RETENTION_MS = 90 * 24 * 60 * 60 * 1000

TOPIC_CONFIGS = {"cleanup.policy": "compact,delete", "retention.ms": str(_RETENTION_MS)}


def history_topic(pipeline: Pipeline) -> str | None:
    if pipeline.history_topic == NO_HISTORY:
        return None
    return pipeline.history_topic or f"{pipeline.name}.runs"


class HistoryRecorder:
    """Called with the status about once a second."""

    def __init__(self, put: Callable[[Message], None]) -> None:
        self._put = put
        self._recorded_ms = float("-inf")
        self._queries: object = None

    def __call__(self, status: RunStatus) -> None:
        queries = [(query.name, query.state == FAILED, query.failures) for query in status.queries]
        is_due = status.updated_ms - self._recorded_ms >= INTERVAL_MS
        if is_due or queries != self._queries or status.ended_ms is not None:
            self._recorded_ms = status.updated_ms
            self._queries = queries
            self._put(Message(key=status.run_id, body=msgspec.to_builtins(status)))
