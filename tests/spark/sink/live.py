"""The sink without Spark, against a real broker: what its tests write, and what a reader then sees."""

import itertools
import time
from collections.abc import Iterable, Sequence

import pyarrow as pa
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from penstock.client.blocking.client import BlockingClient
from penstock.spark.options import Options
from penstock.spark.sink import exactly_once
from penstock.spark.sink.decision import Member
from penstock.spark.sink.exactly_once import WrittenBatch
from penstock.spark.sink.identity import Run, Task
from penstock.spark.sink.settings import SinkSettings
from penstock.spark.sink.task import TaskWriter
from penstock.spark.sink.transactions import BrokerTransactions

_names = itertools.count()


def now_ms() -> int:
    """The real time: what is older than a week, retention would take away from a test that lasts."""
    return time.time_ns() // 1_000_000


def new_name(kind: str) -> str:
    """A name of a topic or a query that no other test of this process uses."""
    return f"{kind}-{next(_names)}"


def sink_settings(bootstrap: str, topic: str, **options: str) -> SinkSettings:
    given = {"kafka.bootstrap.servers": bootstrap, "topic": topic}
    return SinkSettings.from_options(Options({**given, **options}))


def batch_of(rows: Iterable[int], *, padding: int = 0) -> pa.RecordBatch:
    texts = [b"%d" % row for row in rows]
    return pa.record_batch(
        {
            "key": pa.array(texts, pa.binary()),
            "value": pa.array([text + b" " * padding for text in texts], pa.binary()),
        }
    )


class LiveQuery:
    """One run of a query whose tasks and driver are this process."""

    def __init__(
        self, cluster: BlockingClient, settings: SinkSettings, query_id: str, run_id: str = "run"
    ) -> None:
        self.cluster = cluster
        self.settings = settings
        self.run = Run(query_id=query_id, run_id=run_id)
        self.transactions = BrokerTransactions(cluster)
        self._task_ids = itertools.count()

    def write(self, batch_id: int, parts: Sequence[Sequence[int]]) -> WrittenBatch:
        """Run a batch's tasks, one for each part."""
        members: list[Member] = []
        idle: list[int] = []
        for partition, rows in enumerate(parts):
            task = Task(
                run=self.run,
                batch_id=batch_id,
                partition=partition,
                attempt=0,
                number=next(self._task_ids),
            )
            number = exactly_once.claim_transactional_id(self.transactions, task)
            member = None if number is None else self.write_task(number, rows)
            if member is None:
                idle.append(task.number if number is None else number)
            else:
                members.append(member)
        return WrittenBatch(
            run=self.run,
            batch_id=batch_id,
            members=tuple(members),
            idle=tuple(idle),
            task_count=len(parts),
        )

    def write_task(self, number: int, rows: Sequence[int]) -> Member | None:
        writer = TaskWriter(
            self.settings,
            self.cluster,
            now_ms=now_ms,
            transactional_id=self.run.transactional_id(number),
            first_partition=0,
        )
        writer.write([batch_of(rows)])
        return None if writer.producer is None else Member(number, *writer.producer)


def write_rows(cluster: BlockingClient, bootstrap: str, topic: str, rows: Iterable[int]) -> None:
    """Put rows into a topic, outside of any transaction."""
    settings = sink_settings(bootstrap, topic)
    writer = TaskWriter(settings, cluster, now_ms=now_ms, transactional_id=None, first_partition=0)
    writer.write([batch_of(rows)])


def committed_rows(bootstrap: str, topic: str) -> list[int]:
    """What a consumer with read_committed sees of a topic, partition by partition, in order."""
    return [int(message.value() or b"") for message in committed_messages(bootstrap, topic)]


def committed_messages(bootstrap: str, topic: str) -> list[Message]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
        messages: list[Message] = []
        ended: set[int] = set()
        while len(ended) < len(partitions):
            message = consumer.poll(20)
            assert message is not None, "the reader waits for records that never come"
            error = message.error()
            if error is None:
                messages.append(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition() or 0)
            elif not error.retriable():
                raise KafkaException(error)
        return messages
    finally:
        consumer.close()
