"""The Spark driver of workload (k): a process of its own, so that its JVM ends with it.

Reads its `Task` as JSON from standard input and writes one `Line` as JSON for everything it measured, as it goes.
"""

import contextlib
import os
import queue
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.distribution import pip_install
from penstock_bench.figures import quantile
from penstock_bench.process_tree import descendants, parents, rss_kib

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OURS = "penstock"
CONNECTOR = "kafka"
PARQUET = "parquet"
TO_NOTHING = "noop"
TO_TABLE = "table"

_SAMPLE_INTERVAL_S = 0.05
_MEMORY_BATCHES = 20
_ARRIVAL_TIMEOUT_S = 60.0
_WARM_UP_RECORDS = 3
_REASON_CHARACTERS_MAX = 500


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """The task of the driver."""

    bootstrap: str
    topic: str  # filled
    latency_topic: str  # empty
    rows: int
    rounds: int
    latency_records: int
    directory: str
    jars: tuple[str, ...]  # of Spark's own connector; empty where they are not installed

    @property
    def topic_formats(self) -> tuple[str, ...]:
        return (OURS, CONNECTOR) if self.jars else (OURS,)


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A figure, a progress message, or the reason of a failure."""

    label: str = ""
    value: float = 0.0
    unit: str = ""
    message: str = ""
    failure: str = ""


def rows_label(source: str, target: str) -> str:
    return f"{source} to {target}"


def latency_label(source: str) -> str:
    return f"{source}, produced to processed, p50"


def trigger_label(source: str) -> str:
    return f"{source}, trigger, p50"


MEMORY_FIRST = "largest Python worker, first half"
MEMORY_SECOND = "largest Python worker, second half"


class Driver:
    """Measures in a session, and emits each figure when it is measured."""

    def __init__(self, spark: "SparkSession", task: Task, emit: Callable[[Line], None]) -> None:
        self._spark = spark
        self._task = task
        self._emit = emit
        self._parquet = os.path.join(task.directory, "parquet")

    def run(self) -> None:
        self._log("writing the same rows to Parquet files")
        self._read(OURS).write.mode("overwrite").parquet(self._parquet)
        sources = (*self._task.topic_formats, PARQUET)
        for number in range(self._task.rounds + 1):
            is_warm = number > 0  # the first round compiles the JVM's code and starts the workers
            self._log(f"rows: round {number} of {self._task.rounds}" if is_warm else "rows: warming up")
            for target in (TO_NOTHING, TO_TABLE):
                for source in sources:
                    rate = self._task.rows / self._measure_rows(source, target)
                    if is_warm:
                        self._emit(Line(label=rows_label(source, target), value=rate, unit="rows/s"))
        for source in self._task.topic_formats:
            self._log(f"trigger latency of {source}")
            self._measure_latency(source)
        self._log("memory of the Python workers")
        self._measure_memory()

    def _log(self, what: str) -> None:
        self._emit(Line(message=what))

    # -- rows a second

    def _read(self, source: str) -> "DataFrame":
        if source == PARQUET:
            return self._spark.read.parquet(self._parquet)
        return self._spark.read.format(source).options(**self._topic(self._task.topic)).load()

    def _topic(self, topic: str) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self._task.bootstrap, "subscribe": topic}

    def _measure_rows(self, source: str, target: str) -> float:
        table = os.path.join(self._task.directory, "table")
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

        producer = confluent_kafka.Producer({"bootstrap.servers": self._task.bootstrap, "linger.ms": 0})
        options = {**self._topic(self._task.latency_topic), "startingOffsets": "latest"}
        stream = self._spark.readStream.format(source).options(**options).load()
        writer = stream.writeStream.foreachBatch(keep).option(
            "checkpointLocation", os.path.join(self._task.directory, f"latency-{source}")
        )
        latencies: list[float] = []
        with _running(writer) as query:
            query.processAllAvailable()  # the query knows where "latest" was
            for number in range(_WARM_UP_RECORDS + self._task.latency_records):
                began = time.perf_counter()
                producer.produce(self._task.latency_topic, b"%d" % number)
                producer.flush(_ARRIVAL_TIMEOUT_S)
                while arrived.get(timeout=_ARRIVAL_TIMEOUT_S) != number:
                    pass
                latencies.append(time.perf_counter() - began)
            triggers = [
                float(each.durationMs["triggerExecution"])
                for each in query.recentProgress
                if each.numInputRows
            ]
        median_ms = quantile(latencies[_WARM_UP_RECORDS:], 0.5) * 1e3
        self._emit(Line(label=latency_label(source), value=median_ms, unit="ms"))
        self._emit(
            Line(label=trigger_label(source), value=quantile(triggers[_WARM_UP_RECORDS:], 0.5), unit="ms")
        )

    # -- memory

    def _measure_memory(self) -> None:
        """Stream the topic into a table in many batches, through Python workers that Spark reuses."""
        directory = self._task.directory
        options = {
            **self._topic(self._task.topic),
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": str(-(-self._task.rows // _MEMORY_BATCHES)),
        }
        stream = self._spark.readStream.format(OURS).options(**options).load()
        writer = stream.writeStream.format("penstock_lake").option("path", os.path.join(directory, "memory"))
        writer = writer.option("checkpointLocation", os.path.join(directory, "memory-checkpoint"))
        with sampled_memory(os.getpid()) as samples:
            query = writer.trigger(availableNow=True).start()
            query.awaitTermination()
        first, second = halves(samples)
        self._emit(Line(label=MEMORY_FIRST, value=first / 1024, unit="MiB"))
        self._emit(Line(label=MEMORY_SECOND, value=second / 1024, unit="MiB"))


@contextlib.contextmanager
def _running(writer: Any) -> Iterator[Any]:
    query = writer.start()
    try:
        yield query
    finally:
        query.stop()


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
            sizes = [rss_kib(pid) for pid in descendants(parents(), ancestor) if _is_python(pid)]
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


def main() -> int:
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # Spark's JVM prints to standard output

    def emit(line: Line) -> None:
        output.write(msgspec.json.encode(line) + b"\n")
        output.flush()

    try:
        spark = _start(task)
        Driver(spark, task, emit).run()
        spark.stop()
    except Exception as error:  # noqa: BLE001 - the benchmark reports every failure
        emit(Line(failure=_reason(error)))
        return 1
    return 0


def _reason(error: Exception) -> str:
    """Return the error in one line. In an error of the JVM the second line has the reason, the rest is the trace."""
    reason = " ".join(str(error).strip().splitlines()[:2])
    return reason[:_REASON_CHARACTERS_MAX] or type(error).__name__


def _start(task: Task) -> "SparkSession":
    try:
        from penstock.spark.session import start_session
    except ModuleNotFoundError as error:
        raise RuntimeError(f"there is no {error.name}: `{pip_install('spark', 'jre')}`") from None
    settings = {"spark.driver.memory": "2g", "spark.local.dir": os.path.join(task.directory, "local")}
    if task.jars:
        settings["spark.jars"] = ",".join(task.jars)
    return start_session(
        "penstock-bench", settings=settings, log_path=os.path.join(task.directory, "spark.log")
    )


if __name__ == "__main__":
    sys.exit(main())
