"""The kit: a broker of its own, a session, and a directory for everything that a pipeline writes."""

import contextlib
import io
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from confluent_kafka import Producer
from pyspark.sql import SparkSession

from penstock.embedded import Broker
from penstock.embedded import Record as StoredRecord
from penstock.spark.dead_letter_format import TOPIC_SUFFIX, DeadLetter, read_headers
from penstock.spark.lake.formats import existing_table
from penstock.spark.lake.options import parse_options
from penstock.spark.lake.reader import TableReader
from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.load import load
from penstock.spark.pipeline.progress.terminal import Display
from penstock.spark.pipeline.run.runner import RunResult, run
from penstock.spark.testing.compare import Row, rows_differ
from penstock.spark.testing.isolate import isolated, table_path
from penstock.spark.testing.records import KeyOf, as_record
from penstock.spark.testing.session import start_test_session

_TIMEOUT_SECONDS = 30.0


class PipelineKit:
    """Feeds topics, runs pipeline files and reads their outputs. Everything that they write is below `directory`."""

    def __init__(self, broker: Broker, spark: SparkSession, directory: str) -> None:
        self.broker = broker
        self.spark = spark
        self.directory = directory

    def create_topic(self, name: str, partitions: int = 1) -> None:
        self.broker.create_topic(name, partitions)

    def feed(self, topic: str, events: Iterable[Any], *, key: KeyOf | None = None) -> None:
        """Send mappings, events, bytes, text, None or Records in order; create the topic if it is missing."""
        self.create_topic(topic)
        producer = Producer(
            {
                "bootstrap.servers": self.broker.bootstrap_servers,
                "partitioner": "murmur2_random",
                "linger.ms": 0,
            }
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
        result = self.run_isolated(self.isolated(load(file, environment)))
        assert not result.given_up, f"{file} failed: {result.given_up}"
        return result

    def isolated(self, pipeline: Pipeline) -> Pipeline:
        """Move a pipeline to this kit's broker and directory."""
        return isolated(pipeline, self.broker.bootstrap_servers, self.directory)

    def run_isolated(self, pipeline: Pipeline) -> RunResult:
        """Run a pipeline that was moved already. The result has the reasons of failed queries."""
        return run(pipeline, once=True, spark=self.spark, display=Display(io.StringIO()))

    def path(self, path: str) -> str:
        """Return where a table with this path in the file is kept."""
        return table_path(path, self.directory)

    def records(self, topic: str) -> list[StoredRecord]:
        """Return all committed records of a topic, partition by partition; none if it does not exist."""
        return self.broker.topic(topic).records(committed_only=True)

    def dead_letters(self, pipeline: str) -> list[DeadLetter]:
        """Return the dead letters of a pipeline; none if the topic does not exist."""
        letters = [read_headers(record.headers) for record in self.records(f"{pipeline}{TOPIC_SUFFIX}")]
        return [letter for letter in letters if letter is not None]

    def table(self, path: str) -> list[dict[str, Any]]:
        return read_table(self.path(path))

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


def read_table(path: str) -> list[dict[str, Any]]:
    """Read a table of any of our formats in this process, which takes milliseconds; a job of Spark takes a second."""
    state = existing_table(path).state()
    assert state is not None, path
    reader = TableReader(parse_options({"path": path}), state.schema.names)
    return [row for share in reader.partitions() for batch in reader.read(share) for row in batch.to_pylist()]


@contextlib.contextmanager
def running_kit(*, spark: SparkSession | None = None, directory: str | None = None) -> Iterator[PipelineKit]:
    """Create a kit with a broker of its own. Without `spark` and `directory`, it has its own until the end."""
    with contextlib.ExitStack() as opened:
        home = directory or opened.enter_context(tempfile.TemporaryDirectory(prefix="penstock-kit-"))
        broker = opened.enter_context(Broker())
        session = spark
        if session is None:
            session = start_test_session(home)
            opened.callback(session.stop)
        yield PipelineKit(broker, session, home)
