"""(E) Pipelines: what a pipeline file costs over plain Spark code, what more outputs cost, and from topic to topic."""

import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock_bench.board import Board
from penstock_bench.context import Bench
from penstock_bench.figures import quantile
from penstock_bench.scale import Scale
from penstock_bench.workloads.machine.spark_driver import (
    ARRIVAL_TIMEOUT_S,
    PARTITIONS,
    Emit,
    SparkFailed,
    measure,
    produce,
    records,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLAIN = "plain Spark code, one output"
PIPELINE = "pipeline file, one output"
THREE = "pipeline file, three outputs"
EXACTLY_ONCE = "pipeline file, exactly once"
AT_LEAST_ONCE = "pipeline file, at least once"
CONNECTOR = "Spark's connector"

_TOPIC = "pipelines"
_LATENCY_TOPIC = "pipelines-latency"
_OUTPUT_TOPICS = ("pipelines-a", "pipelines-b", "pipelines-c")
_SCHEMA = "id BIGINT, sensor STRING, celsius DOUBLE, trace STRING"
_CONDITION = "celsius > 0"
_TRIGGER_MS = 100
_WARM_UP_RECORDS = 10
_START_TIMEOUT_S = 300.0


def latency_label(of: str) -> str:
    return f"{of}, topic to topic, p50"


def run(bench: Bench) -> None:
    topics = {_TOPIC: PARTITIONS, _LATENCY_TOPIC: 1, **dict.fromkeys(_OUTPUT_TOPICS, PARTITIONS)}
    with bench.directory() as scratch, bench.broker(topics) as (server, _):
        bench.log(f"producing {bench.scale.spark_rows:,} records for pipelines")
        produce(server.bootstrap, _TOPIC, records(bench.scale.spark_rows))
        measure(bench, Driver(bench.scale, server.bootstrap, scratch), scratch)
    add_ratios(bench.board)


def add_ratios(board: Board) -> None:
    board.ratio("time: pipeline file / plain Spark code", PIPELINE, PLAIN)
    board.ratio("time: three outputs / one", THREE, PIPELINE)
    for ours in (AT_LEAST_ONCE, EXACTLY_ONCE):
        label = f"topic to topic, p50: {ours} / {CONNECTOR}"
        board.ratio(label, latency_label(ours), latency_label(CONNECTOR))


class Driver:
    _spark: "SparkSession"

    def __init__(self, scale: Scale, bootstrap: str, directory: str) -> None:
        self._scale = scale
        self._bootstrap = bootstrap
        self._directory = directory
        self._runs = 0

    def __call__(self, spark: "SparkSession", jars: Sequence[str], emit: Emit) -> None:
        self._spark = spark
        whole: dict[str, Callable[[], None]] = {
            PLAIN: self._run_plain,
            PIPELINE: lambda: self._run_pipeline(1),
            THREE: lambda: self._run_pipeline(3),
        }
        latencies: dict[str, Callable[[], float]] = {
            AT_LEAST_ONCE: lambda: self._pipeline_latency("at-least-once"),
            EXACTLY_ONCE: lambda: self._pipeline_latency("exactly-once"),
        }
        if jars:
            latencies[CONNECTOR] = self._connector_latency
        for number in range(self._scale.rounds + 1):
            is_warm = number > 0  # the first round compiles the JVM's code and starts the workers
            emit(f"pipelines: round {number} of {self._scale.rounds}" if is_warm else "pipelines: warming up")
            for label, work in whole.items():
                began = time.perf_counter()
                work()
                if is_warm:
                    emit((label, time.perf_counter() - began, "s"))
            for label, median in latencies.items():
                median_ms = median() * 1e3
                if is_warm:
                    emit((latency_label(label), median_ms, "ms"))

    def _checkpoint(self) -> str:
        self._runs += 1
        return os.path.join(self._directory, f"checkpoint-{self._runs}")

    # -- a whole topic

    def _run_plain(self) -> None:
        """Do what the pipeline with one output does, without dead letters."""
        from pyspark.sql import functions as F  # noqa: N812

        options = {"kafka.bootstrap.servers": self._bootstrap, "kafka.isolation.level": "read_committed"}
        stream = self._spark.readStream.format("penstock").options(
            **options, subscribe=_TOPIC, startingOffsets="earliest"
        )
        row = F.from_json(F.col("value").cast("string"), _SCHEMA)
        rows = stream.load().select(row.alias("row")).select("row.*").filter(_CONDITION)
        value = F.to_json(F.struct("id", "sensor", "celsius")).alias("value")
        writer = rows.select(F.col("sensor").alias("key"), value).writeStream.format("penstock")
        writer = writer.options(**options, topic=_OUTPUT_TOPICS[0], checkpointLocation=self._checkpoint())
        writer.trigger(availableNow=True).start().awaitTermination()

    def _run_pipeline(self, outputs: int) -> None:
        text = f"""
pipeline: measured
bootstrap_servers: {self._bootstrap}
checkpoints: {self._checkpoint()}
sources:
  readings: {{topic: {_TOPIC}, decode: {{json: "{_SCHEMA}"}}}}
steps:
  - {{name: warm, sql: "SELECT id, sensor, celsius FROM readings WHERE {_CONDITION}"}}
outputs:
"""  # noqa: S608 - our own names
        for topic in _OUTPUT_TOPICS[:outputs]:
            text += f"  {topic}: {{from: warm, topic: {topic}, key: sensor}}\n"
        self._run(text, once=True, stopping=threading.Event())

    def _run(self, text: str, *, once: bool, stopping: threading.Event) -> None:
        from penstock.spark.pipeline.run.runner import run as run_pipeline
        from penstock.spark.pipeline.yaml.file import read_yaml

        pipeline = read_yaml(text, os.path.join(self._directory, "measured.yaml"), {})
        result = run_pipeline(pipeline, once=once, spark=self._spark, quiet=True, stopping=stopping)
        if result.exit_code:
            raise SparkFailed(f"the pipeline failed: {result.given_up}")

    # -- one record at a time

    def _pipeline_latency(self, delivery: str) -> float:
        text = f"""
pipeline: measured
bootstrap_servers: {self._bootstrap}
checkpoints: {self._checkpoint()}
trigger: {_TRIGGER_MS} ms
sources:
  records: {{topic: {_LATENCY_TOPIC}, starting: latest}}
outputs:
  copy: {{from: records, topic: {_OUTPUT_TOPICS[0]}, key: key, value: value, delivery: {delivery}}}
"""
        stopping = threading.Event()
        running = threading.Thread(target=lambda: self._run(text, once=False, stopping=stopping))
        running.start()
        try:
            return self._median_latency()
        finally:
            stopping.set()
            running.join()

    def _connector_latency(self) -> float:
        options = {"kafka.bootstrap.servers": self._bootstrap}
        stream = self._spark.readStream.format("kafka").options(
            **options, subscribe=_LATENCY_TOPIC, startingOffsets="latest"
        )
        writer = stream.load().select("key", "value").writeStream.format("kafka")
        writer = writer.options(**options, topic=_OUTPUT_TOPICS[0], checkpointLocation=self._checkpoint())
        query = writer.trigger(processingTime=f"{_TRIGGER_MS} milliseconds").start()
        try:
            return self._median_latency()
        finally:
            query.stop()

    def _median_latency(self) -> float:
        """Produce one record at a time, at random moments, and wait for it in the topic that is written."""
        import confluent_kafka

        producer = confluent_kafka.Producer({"bootstrap.servers": self._bootstrap, "linger.ms": 0})
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "unused",
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 500,
            }
        )
        end = confluent_kafka.OFFSET_END
        consumer.assign(
            [confluent_kafka.TopicPartition(_OUTPUT_TOPICS[0], each, end) for each in range(PARTITIONS)]
        )
        consumer.poll(0.1)
        chance = random.Random(1)  # noqa: S311 - the same moments in every run
        latencies = []
        try:
            self._await_first(producer, consumer)
            for number in range(_WARM_UP_RECORDS + self._scale.spark_latency_records):
                time.sleep(chance.uniform(0.0, 2 * _TRIGGER_MS / 1e3))
                began = time.perf_counter()
                producer.produce(_LATENCY_TOPIC, b"%d" % number)
                producer.flush(ARRIVAL_TIMEOUT_S)
                _await_value(consumer, b"%d" % number)
                latencies.append(time.perf_counter() - began)
        finally:
            consumer.close()
        return quantile(latencies[_WARM_UP_RECORDS:], 0.5)

    def _await_first(self, producer: Any, consumer: Any) -> None:
        """The query reads from where the topic ends when it starts: produce until a record arrives."""
        deadline = time.perf_counter() + _START_TIMEOUT_S
        while time.perf_counter() < deadline:
            producer.produce(_LATENCY_TOPIC, b"first")
            message = consumer.poll(1.0)
            if message is not None and not message.error():
                return
        raise SparkFailed("no record arrived")


def _await_value(consumer: Any, value: bytes) -> None:
    deadline = time.perf_counter() + ARRIVAL_TIMEOUT_S
    while time.perf_counter() < deadline:
        message = consumer.poll(1.0)
        if message is not None and not message.error() and message.value() == value:
            return
    raise SparkFailed("a record did not arrive")
