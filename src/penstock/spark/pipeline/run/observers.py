"""Connects a run with those who follow it: its history, lineage events, notifications of failures.

Each has an outbox, so none can delay the run; at the end all together have `_CLOSE_TIMEOUT_S`.
"""

import time
from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame

from penstock.spark.pipeline.compile.frames import Compiled
from penstock.spark.pipeline.core.model import Lineage, OnFailure, Pipeline
from penstock.spark.pipeline.core.queries import PlannedQuery
from penstock.spark.pipeline.delivery.failures import FailureNotifier
from penstock.spark.pipeline.delivery.outbox import Deliver, Outbox
from penstock.spark.pipeline.delivery.receivers import TopicReceiver, to_command, to_file, to_url
from penstock.spark.pipeline.history.record import TOPIC_CONFIGS, HistoryRecorder, history_topic
from penstock.spark.pipeline.lineage.datasets import jobs_of
from penstock.spark.pipeline.lineage.events import LineageEmitter
from penstock.spark.pipeline.progress.reporter import Observer
from penstock.spark.pipeline.run.topics import client_settings
from penstock.spark.record_columns import RECORD

_DELIVERY_TIMEOUT_S = 5.0
_CLOSE_TIMEOUT_S = 15.0


class Observers:
    """The observers that the file asks for. `close` delivers what is left, within a timeout."""

    def __init__(
        self,
        pipeline: Pipeline,
        queries: Sequence[PlannedQuery],
        compiled: Compiled,
        report: Callable[[str], None],
    ) -> None:
        self._pipeline = pipeline
        self._report = report
        self._outboxes: list[Outbox] = []
        self.all: list[Observer] = []
        if topic := history_topic(pipeline):
            put = self._open(f"the history topic {topic}", self._topic(topic, TOPIC_CONFIGS)).put
            self.all.append(HistoryRecorder(put))
        if pipeline.lineage is not None:
            self._add_lineage(pipeline.lineage, queries, compiled)
        if pipeline.on_failure is not None:
            self._add_notifiers(pipeline.on_failure)

    def close(self) -> None:
        for outbox in self._outboxes:
            outbox.begin_close()
        deadline = time.monotonic() + _CLOSE_TIMEOUT_S
        for outbox in self._outboxes:
            outbox.close(max(0.0, deadline - time.monotonic()))

    def _open(self, what: str, deliver: Deliver) -> Outbox:
        outbox = Outbox(what, deliver, self._report)
        self._outboxes.append(outbox)
        return outbox

    def _topic(self, topic: str, configs: dict[str, str]) -> Deliver:
        return TopicReceiver(client_settings(self._pipeline), topic, configs, _DELIVERY_TIMEOUT_S)

    def _add_lineage(self, lineage: Lineage, queries: Sequence[PlannedQuery], compiled: Compiled) -> None:
        if lineage.topic is not None:
            deliver = self._topic(lineage.topic, {})
        elif lineage.url is not None:
            deliver = to_url(lineage.url, lineage.headers, _DELIVERY_TIMEOUT_S)
        else:
            deliver = to_file(self._pipeline.resolve(lineage.file or ""))
        columns = {name: _columns(frame) for name, frame in compiled.frames.items()}
        written = {name: _columns(frame) for name, frame in compiled.outputs.items()}
        jobs = jobs_of(self._pipeline, queries, columns, written)
        put = self._open("the receiver of lineage events", deliver).put
        self.all.append(LineageEmitter(put, jobs, lineage.namespace, lineage.interval_ms))

    def _add_notifiers(self, wanted: OnFailure) -> None:
        timeout_s = wanted.timeout_ms / 1000
        receivers: list[tuple[str, Deliver]] = []
        if wanted.url is not None:
            receivers.append(("the webhook of on_failure", to_url(wanted.url, wanted.headers, timeout_s)))
        if wanted.command is not None:
            command = to_command(wanted.command, self._pipeline.directory, timeout_s)
            receivers.append(("the command of on_failure", command))
        for what, deliver in receivers:
            self.all.append(FailureNotifier(self._open(what, deliver).put, restarts=wanted.restarts))


def _columns(frame: DataFrame) -> tuple[tuple[str, str], ...]:
    return tuple(
        (field.name, field.dataType.simpleString()) for field in frame.schema if field.name != RECORD
    )
