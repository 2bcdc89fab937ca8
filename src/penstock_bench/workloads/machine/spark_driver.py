"""The Spark driver of a benchmark: a process of its own, so that its JVM ends with it, which sends what it measured
through a pipe. And the records that it reads.
"""

import contextlib
import glob
import multiprocessing
import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from penstock.distribution import pip_install
from penstock_bench.context import Bench

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = 4
ARRIVAL_TIMEOUT_S = 60.0
_RECORD_BYTES = 200
_JARS = os.path.join(sys.prefix, "interop", "spark-kafka", "*.jar")
_WITHOUT_CONNECTOR = (
    "Spark's own Kafka connector was not measured: `python -m tools.setup_spark_connector` fetches it where Maven can "
    "be reached."
)
_END_TIMEOUT_S = 30.0
_REASON_CHARACTERS_MAX = 500


class SparkFailed(Exception):
    """The driver failed; the message says why."""


Message = str | tuple[str, float, str] | SparkFailed
"""From the driver: progress, a figure with its label and unit, or the reason of a failure."""


Emit = Callable[[Message], None]
Drive = Callable[["SparkSession", Sequence[str], Emit], None]
"""Measures in a session with the connector's jars, if there are any, and emits each figure when it is measured."""


def records(count: int) -> Iterator[bytes]:
    """Make JSON records of exactly 200 B that compress about as well as real ones."""
    rng = random.Random(1)  # noqa: S311 - the same records in every run
    for number in range(count):
        start = b'{"id":%d,"sensor":"s-%04d","celsius":%.2f,"trace":"' % (
            number,
            rng.randrange(10_000),
            rng.uniform(-20, 60),
        )
        yield start + rng.randbytes(100).hex().encode()[: _RECORD_BYTES - len(start) - 2] + b'"}'


def produce(bootstrap: str, topic: str, values: Iterator[bytes]) -> None:
    """Produce the values, round-robin over the partitions, and wait for all acknowledgements."""
    import confluent_kafka

    producer = confluent_kafka.Producer(
        {"bootstrap.servers": bootstrap, "queue.buffering.max.messages": 5_000_000}
    )
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % PARTITIONS, on_delivery=_raise_failure)
    if left := producer.flush(ARRIVAL_TIMEOUT_S):
        raise SparkFailed(f"{left} records were not acknowledged")


def _raise_failure(error: Any, _message: Any) -> None:
    if error is not None:
        raise SparkFailed(str(error))


def measure(bench: Bench, drive: Drive, scratch: str) -> None:
    """Run a driver; put its figures on the board."""
    jars = tuple(sorted(glob.glob(_JARS)))
    for message in _driven(drive, scratch, jars):
        if isinstance(message, SparkFailed):
            raise message
        if isinstance(message, str):
            bench.log(f"Spark: {message}")
        else:
            bench.board.add(*message)
    names = ", ".join(os.path.basename(jar).removesuffix(".jar") for jar in jars)
    bench.board.note(f"Spark's own connector was used as of {names}." if jars else _WITHOUT_CONNECTOR)


def _driven(*arguments: Any) -> Iterator[Message]:
    """Run the driver and yield its messages. The process is ended afterwards in any case."""
    spawn = multiprocessing.get_context("spawn")
    messages, theirs = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_drive, args=(theirs, *arguments))
    process.start()
    theirs.close()
    try:
        with contextlib.suppress(EOFError):
            while True:
                yield messages.recv()
        process.join(_END_TIMEOUT_S)
        if process.exitcode:
            raise SparkFailed(f"the Spark driver ended with code {process.exitcode}")
    finally:
        process.terminate()
        process.join(_END_TIMEOUT_S)
        process.kill()


def _drive(pipe: "Connection[Any, Any]", drive: Drive, directory: str, jars: Sequence[str]) -> None:
    with open(os.path.join(directory, "driver.log"), "wb") as log:
        for descriptor in (1, 2):  # Spark's JVM prints to both
            os.dup2(log.fileno(), descriptor)
    try:
        spark = _start(directory, jars)
        drive(spark, jars, pipe.send)
        spark.stop()
    except Exception as error:  # noqa: BLE001 - the benchmark reports every failure
        pipe.send(SparkFailed(_reason(error)))


def _reason(error: Exception) -> str:
    """Return the error in one line. In an error of the JVM the second line has the reason, the rest is the trace."""
    reason = " ".join(str(error).strip().splitlines()[:2])
    return reason[:_REASON_CHARACTERS_MAX] or type(error).__name__


def _start(directory: str, jars: Sequence[str]) -> "SparkSession":
    try:
        from penstock.spark.session import start_session
    except ModuleNotFoundError as error:
        raise RuntimeError(f"there is no {error.name}: `{pip_install('spark', 'jre')}`") from None
    settings = {"spark.driver.memory": "2g", "spark.local.dir": os.path.join(directory, "local")}
    if jars:
        settings["spark.jars"] = ",".join(jars)
    return start_session("penstock-bench", settings=settings, log_path=os.path.join(directory, "spark.log"))
