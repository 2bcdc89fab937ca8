"""(k) Spark: how fast a topic is read, against files of the same rows and against Spark's own Kafka connector."""

import contextlib
import glob
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from typing import IO

import msgspec

from penstock_bench import spark_driver
from penstock_bench.context import Bench
from penstock_bench.figures import Cells, Findings, Ratio
from penstock_bench.librdkafka_clients import produce_values
from penstock_bench.spark_driver import (
    CONNECTOR,
    MEMORY_FIRST,
    MEMORY_SECOND,
    OURS,
    PARQUET,
    TO_NOTHING,
    TO_TABLE,
    Line,
    Task,
    latency_label,
    rows_label,
    trigger_label,
)

_WITHOUT_CONNECTOR = (
    "Spark's own Kafka connector was not measured: `python -m tools.setup_spark_connector` fetches it where Maven can "
    "be reached."
)
_TOPIC = "spark"
_LATENCY_TOPIC = "spark-latency"
_PARTITIONS = 4
_RECORD_BYTES = 200
_JARS = os.path.join(sys.prefix, "interop", "spark-kafka", "*.jar")
_END_TIMEOUT_S = 30.0


class SparkFailed(Exception):
    """The driver failed; the message says why."""


def run(bench: Bench) -> Findings:
    cells = Cells()
    jars = tuple(sorted(glob.glob(_JARS)))
    with bench.directory() as scratch, bench.broker({_TOPIC: _PARTITIONS, _LATENCY_TOPIC: 1}) as (server, _):
        bench.log(f"producing {bench.scale.spark_rows:,} records for Spark")
        produce_values(server.bootstrap, _TOPIC, records(bench.scale.spark_rows), _PARTITIONS)
        task = Task(
            bootstrap=server.bootstrap,
            topic=_TOPIC,
            latency_topic=_LATENCY_TOPIC,
            rows=bench.scale.spark_rows,
            rounds=bench.scale.rounds,
            latency_records=bench.scale.spark_latency_records,
            directory=scratch,
            jars=jars,
        )
        for line in _driven(task, bench.path("spark-driver.log")):
            if line.message:
                bench.log(f"Spark: {line.message}")
            else:
                cells.add(line.label, line.value, line.unit)
    notes = ("Spark's own connector was used as of " + _names(jars) + ".",) if jars else (_WITHOUT_CONNECTOR,)
    return Findings(ratios=ratios(cells, task), figures=cells.figures(), notes=notes)


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


def ratios(cells: Cells, task: Task) -> tuple[Ratio, ...]:
    """Compare rows with the other sources, latency with the connector, memory of both halves."""
    found = [
        cells.ratio(
            f"topic to {target}: penstock / {name}", rows_label(OURS, target), rows_label(reference, target)
        )
        for reference, name in ((CONNECTOR, "Spark's connector"), (PARQUET, "Parquet files"))
        if reference == PARQUET or task.jars
        for target in (TO_NOTHING, TO_TABLE)
    ]
    if task.jars:
        found += [
            cells.ratio(f"{of(OURS)} / that of Spark's connector", of(OURS), of(CONNECTOR))
            for of in (latency_label, trigger_label)
        ]
    memory = cells.ratio(
        "memory of the Python workers: second half / first half", MEMORY_SECOND, MEMORY_FIRST
    )
    return (*found, memory)


def _driven(task: Task, log_path: str) -> Iterator[Line]:
    """Run the driver and yield its lines. The process is ended afterwards in any case."""
    with open(log_path, "wb") as log:
        # Our own interpreter with fixed arguments.
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", spark_driver.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with process.stdin as stdin:
            stdin.write(msgspec.json.encode(task))
        yield from read_lines(process.stdout)
        process.wait(_END_TIMEOUT_S)
        if process.returncode:
            raise SparkFailed(f"the Spark driver ended with code {process.returncode}")
    finally:
        _end(process)


def read_lines(output: IO[bytes]) -> Iterator[Line]:
    """Decode the lines of the driver. Raises `SparkFailed` at a failure."""
    for text in output:
        line = msgspec.json.decode(text, type=Line)
        if line.failure:
            raise SparkFailed(line.failure)
        yield line


def _end(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        process.wait(_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _names(jars: tuple[str, ...]) -> str:
    return ", ".join(os.path.basename(jar).removesuffix(".jar") for jar in jars)
