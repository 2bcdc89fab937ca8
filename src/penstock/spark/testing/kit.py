"""The kit: a broker, a session, and a directory for the files of pipelines."""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from msgspec.structs import replace
from pyspark.sql import SparkSession

from penstock.spark.dead_letter_format import TOPIC_SUFFIX, DeadLetter, read_headers
from penstock.spark.pipeline.core.model import Output, Pipeline, Source, TableSource
from penstock.spark.pipeline.load import load
from penstock.spark.pipeline.outputs import TableTarget
from penstock.spark.pipeline.run.runner import RunResult, run
from penstock.spark.testing.broker import TestBroker, running_broker
from penstock.spark.testing.compare import Row, rows_differ
from penstock.spark.testing.records import KeyOf, Record, as_record
from penstock.spark.testing.session import start_test_session

_TIMEOUT_SECONDS = 30.0


class PipelineKit:
    """Feeds topics, runs pipeline files and reads their outputs. Paths are relative to `directory`."""

    def __init__(self, broker: TestBroker, spark: SparkSession, directory: str) -> None:
        self.broker = broker
        self.spark = spark
        self.directory = directory
        self._admin = AdminClient({"bootstrap.servers": broker.bootstrap})

    def create_topic(self, name: str, partitions: int = 1) -> None:
        if name not in self._admin.list_topics(timeout=_TIMEOUT_SECONDS).topics:
            self._admin.create_topics([NewTopic(name, partitions, 1)])[name].result(_TIMEOUT_SECONDS)

    def feed(self, topic: str, events: Iterable[Any], *, key: KeyOf | None = None) -> None:
        """Send mappings, events, bytes, text, None or Records in order; create the topic if it is missing."""
        self.create_topic(topic)
        producer = Producer(
            {"bootstrap.servers": self.broker.bootstrap, "partitioner": "murmur2_random", "linger.ms": 5}
        )
        refused: list[str] = []

        def on_delivery(error: Any, _message: Any) -> None:
            if error is not None:
                refused.append(str(error))

        for given in events:
            record = as_record(given, key)
            placed = {"partition": record.partition, "timestamp": record.timestamp_ms}
            producer.produce(
                topic,
                value=record.value,
                key=record.key,
                headers=list(record.headers),
                on_delivery=on_delivery,
                **{name: value for name, value in placed.items() if value is not None},
            )
            producer.poll(0)
        assert producer.flush(_TIMEOUT_SECONDS) == 0, f"the broker did not acknowledge all records of {topic}"
        assert not refused, f"the broker refused a record of {topic}: {refused[0]}"

    def run(self, file: str, *, environment: Mapping[str, str] | None = None) -> RunResult:
        """Run a pipeline file until it has read all current records. A failed query fails the test."""
        result = run(self.relocated(load(file, environment)), once=True, spark=self.spark, quiet=True)
        assert not result.given_up, f"{file} failed: {result.given_up}"
        return result

    def relocated(self, pipeline: Pipeline) -> Pipeline:
        """Move a pipeline to this kit's broker, with its files below this kit's directory."""
        return replace(
            pipeline,
            bootstrap_servers=self.broker.bootstrap,
            checkpoints=os.path.join(self.directory, "checkpoints", pipeline.name),
            sources=tuple(self._relocated_source(pipeline, source) for source in pipeline.sources),
            outputs=tuple(self._relocated_output(output) for output in pipeline.outputs),
        )

    def _relocated_output(self, output: Output) -> Output:
        target = output.target
        if isinstance(target, TableTarget):
            return replace(output, target=replace(target, path=self.path(target.path)))
        return output

    def _relocated_source(self, pipeline: Pipeline, source: Source) -> Source:
        """Read the table that the test wrote if there is none beside the file."""
        if not isinstance(source, TableSource) or os.path.exists(pipeline.resolve(source.path)):
            return source
        return replace(source, path=self.path(source.path))

    def path(self, path: str) -> str:
        return path if "://" in path else os.path.join(self.directory, path)

    def records(self, topic: str) -> list[Record]:
        """Return all committed records of a topic, partition by partition."""
        partitions = self._admin.list_topics(timeout=_TIMEOUT_SECONDS).topics[topic].partitions
        consumer = Consumer(
            {
                "bootstrap.servers": self.broker.bootstrap,
                "group.id": "penstock-test-kit",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
            }
        )
        found: list[Record] = []
        try:
            for partition in sorted(partitions):
                consumer.assign([TopicPartition(topic, partition, 0)])
                found += _until_end(consumer)
        finally:
            consumer.close()
        return found

    def dead_letters(self, pipeline: str) -> list[DeadLetter]:
        """Return the dead letters of a pipeline; none if the topic does not exist."""
        topic = f"{pipeline}{TOPIC_SUFFIX}"
        if topic not in self._admin.list_topics(timeout=_TIMEOUT_SECONDS).topics:
            return []
        letters = [read_headers(record.headers) for record in self.records(topic)]
        return [letter for letter in letters if letter is not None]

    def table(self, path: str) -> list[dict[str, Any]]:
        rows = self.spark.read.format("penstock_lake").load(self.path(path)).collect()
        return [row.asDict(recursive=True) for row in rows]

    def assert_topic(
        self, topic: str, expected: Iterable[Row], *, columns: Sequence[str] | None = None
    ) -> None:
        """Assert that the values of a topic are exactly these JSON objects, in any order."""
        values = [
            json.loads(record.value) if record.value is not None else {} for record in self.records(topic)
        ]
        difference = rows_differ(values, expected, columns=columns)
        assert difference is None, f"topic {topic}: {difference}"

    def assert_table(
        self, path: str, expected: Iterable[Row], *, columns: Sequence[str] | None = None
    ) -> None:
        difference = rows_differ(self.table(path), expected, columns=columns)
        assert difference is None, f"table {path}: {difference}"


def _until_end(consumer: Any) -> Iterator[Record]:
    while True:
        message = consumer.poll(_TIMEOUT_SECONDS)
        assert message is not None, "the broker does not answer"
        if (error := message.error()) is not None:
            assert error.code() == KafkaError._PARTITION_EOF, str(error)  # noqa: SLF001 - its public name begins so
            return
        kind, timestamp_ms = message.timestamp()
        yield Record(
            value=message.value(),
            key=message.key(),
            headers=tuple(message.headers() or ()),
            partition=message.partition(),
            timestamp_ms=timestamp_ms if kind else None,
        )


@contextlib.contextmanager
def running_kit(
    *, broker: TestBroker | None = None, spark: SparkSession | None = None, directory: str | None = None
) -> Iterator[PipelineKit]:
    """Create a kit with the given parts; start the others, and stop them at the end."""
    with contextlib.ExitStack() as opened:
        home = directory or opened.enter_context(tempfile.TemporaryDirectory(prefix="penstock-kit-"))
        served = broker or opened.enter_context(running_broker(os.path.join(home, "broker")))
        session = spark
        if session is None:
            session = start_test_session(home)
            opened.callback(session.stop)
        yield PipelineKit(served, session, home)
