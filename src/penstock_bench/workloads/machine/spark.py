"""(k) Spark: how fast a topic is read, against files of the same rows and against Spark's own Kafka connector."""

import contextlib
import functools
import os
import queue
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from penstock_bench.board import Board
from penstock_bench.context import Bench
from penstock_bench.figures import quantile
from penstock_bench.process_tree import descendants, memory_kib, parents
from penstock_bench.scale import Scale
from penstock_bench.workloads.machine.spark_driver import (
    ARRIVAL_TIMEOUT_S,
    PARTITIONS,
    Emit,
    measure,
    produce,
    records,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OURS = "penstock"
CONNECTOR = "kafka"
PARQUET = "parquet"
TO_NOTHING = "noop"
TO_TABLE = "table"
MEMORY_FIRST = "largest Python worker, first half"
MEMORY_SECOND = "largest Python worker, second half"

_TOPIC = "spark"
_LATENCY_TOPIC = "spark-latency"
_SAMPLE_INTERVAL_S = 0.05
_MEMORY_BATCHES = 20
_WARM_UP_RECORDS = 3


def rows_label(source: str, target: str) -> str:
    return f"{source} to {target}"


def latency_label(source: str) -> str:
    return f"{source}, produced to processed, p50"


def trigger_label(source: str) -> str:
    return f"{source}, trigger, p50"


def run(bench: Bench) -> None:
    with bench.directory() as scratch, bench.broker({_TOPIC: PARTITIONS, _LATENCY_TOPIC: 1}) as (server, _):
        bench.log(f"producing {bench.scale.spark_rows:,} records for Spark")
        produce(server.bootstrap, _TOPIC, records(bench.scale.spark_rows))
        measure(bench, functools.partial(_drive, bench.scale, server.bootstrap, scratch), scratch)
    add_ratios(bench.board)


def _drive(
    scale: Scale, bootstrap: str, directory: str, spark: "SparkSession", jars: Sequence[str], emit: Emit
) -> None:
    Driver(spark, scale, bootstrap, directory, emit).run((OURS, CONNECTOR) if jars else (OURS,))


def add_ratios(board: Board) -> None:
    """Compare rows with the other sources, latency with the connector where it was measured, memory of both halves."""
    for reference, name in ((CONNECTOR, "Spark's connector"), (PARQUET, "Parquet files")):
        for target in (TO_NOTHING, TO_TABLE):
            label = f"topic to {target}: penstock / {name}"
            board.ratio(label, rows_label(OURS, target), rows_label(reference, target))
    for of in (latency_label, trigger_label):
        board.ratio(f"{of(OURS)} / that of Spark's connector", of(OURS), of(CONNECTOR))
    board.ratio("memory of the Python workers: second half / first half", MEMORY_SECOND, MEMORY_FIRST)


class Driver:
    """Measures in a session, and emits each figure when it is measured."""

    def __init__(
        self,
        spark: "SparkSession",
        scale: Scale,
        bootstrap: str,
        directory: str,
        emit: Emit,
    ) -> None:
        self._spark = spark
        self._scale = scale
        self._bootstrap = bootstrap
        self._directory = directory
        self._emit = emit
        self._parquet = os.path.join(directory, "parquet")

    def run(self, topic_formats: Sequence[str]) -> None:
        self._emit("writing the same rows to Parquet files")
        self._read(OURS).write.mode("overwrite").parquet(self._parquet)
        sources = (*topic_formats, PARQUET)
        for number in range(self._scale.rounds + 1):
            is_warm = number > 0  # the first round compiles the JVM's code and starts the workers
            self._emit(f"rows: round {number} of {self._scale.rounds}" if is_warm else "rows: warming up")
            for target in (TO_NOTHING, TO_TABLE):
                for source in sources:
                    rate = self._scale.spark_rows / self._measure_rows(source, target)
                    if is_warm:
                        self._emit((rows_label(source, target), rate, "rows/s"))
        for source in topic_formats:
            self._emit(f"trigger latency of {source}")
            self._measure_latency(source)
        self._emit("memory of the Python workers")
        self._measure_memory()

    # -- rows a second

    def _read(self, source: str) -> "DataFrame":
        if source == PARQUET:
            return self._spark.read.parquet(self._parquet)
        return self._spark.read.format(source).options(**self._topic(_TOPIC)).load()

    def _topic(self, topic: str) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self._bootstrap, "subscribe": topic}

    def _measure_rows(self, source: str, target: str) -> float:
        table = os.path.join(self._directory, "table")
        began = time.perf_counter()
        rows = self._read(source)
        if target == TO_NOTHING:
            rows.write.format("noop").mode("overwrite").save()
        else:
            rows.write.format("penstock_lake").mode("append").save(table)
        took_s = time.perf_counter() - began
        shutil.rmtree(table, ignore_errors=True)
        return took_s

    # -- latency

    def _measure_latency(self, source: str) -> None:
        """Produce one record at a time and wait for it in the sink of a query without a trigger interval."""
        import confluent_kafka

        arrived: queue.SimpleQueue[int] = queue.SimpleQueue()

        def keep(rows: "DataFrame", _: int) -> None:
            for row in rows.select("value").collect():
                arrived.put(int(row.value))

        producer = confluent_kafka.Producer({"bootstrap.servers": self._bootstrap, "linger.ms": 0})
        options = {**self._topic(_LATENCY_TOPIC), "startingOffsets": "latest"}
        stream = self._spark.readStream.format(source).options(**options).load()
        writer = stream.writeStream.foreachBatch(keep).option(
            "checkpointLocation", os.path.join(self._directory, f"latency-{source}")
        )
        latencies: list[float] = []
        query = writer.start()
        try:
            query.processAllAvailable()  # the query knows where "latest" was
            for number in range(_WARM_UP_RECORDS + self._scale.spark_latency_records):
                began = time.perf_counter()
                producer.produce(_LATENCY_TOPIC, b"%d" % number)
                producer.flush(ARRIVAL_TIMEOUT_S)
                while arrived.get(timeout=ARRIVAL_TIMEOUT_S) != number:
                    pass
                latencies.append(time.perf_counter() - began)
            triggers = [
                float(each.durationMs["triggerExecution"])
                for each in query.recentProgress
                if each.numInputRows
            ]
        finally:
            query.stop()
        median_ms = quantile(latencies[_WARM_UP_RECORDS:], 0.5) * 1e3
        self._emit((latency_label(source), median_ms, "ms"))
        self._emit((trigger_label(source), quantile(triggers[_WARM_UP_RECORDS:], 0.5), "ms"))

    # -- memory

    def _measure_memory(self) -> None:
        """Stream the topic into a table in many batches, through Python workers that Spark reuses."""
        directory = self._directory
        options = {
            **self._topic(_TOPIC),
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": str(-(-self._scale.spark_rows // _MEMORY_BATCHES)),
        }
        stream = self._spark.readStream.format(OURS).options(**options).load()
        writer = stream.writeStream.format("penstock_lake").option("path", os.path.join(directory, "memory"))
        writer = writer.option("checkpointLocation", os.path.join(directory, "memory-checkpoint"))
        with sampled_memory(os.getpid()) as samples:
            query = writer.trigger(availableNow=True).start()
            query.awaitTermination()
        first, second = halves(samples)
        self._emit((MEMORY_FIRST, first / 1024, "MiB"))
        self._emit((MEMORY_SECOND, second / 1024, "MiB"))


def halves(samples: list[int]) -> tuple[int, int]:
    """Return the maximum of the first half and of the second half."""
    middle = len(samples) // 2
    return max(samples[:middle]), max(samples[middle:])


@contextlib.contextmanager
def sampled_memory(ancestor: int) -> Iterator[list[int]]:
    """Sample the memory (RSS, KiB) of the largest Python process below `ancestor`."""
    samples: list[int] = []
    is_over = threading.Event()

    def sample() -> None:
        while not is_over.wait(_SAMPLE_INTERVAL_S):
            sizes = [memory_kib(pid) for pid in descendants(parents(), ancestor) if _is_python(pid)]
            if sizes:
                samples.append(max(sizes))

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield samples
    finally:
        is_over.set()
        sampler.join()


def _is_python(pid: int) -> bool:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        return b"pyspark" in file.read().partition(b"-m\0")[2]
    return False
