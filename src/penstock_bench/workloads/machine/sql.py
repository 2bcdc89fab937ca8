"""(S) SQL: a topic of JSON records grouped by `penstock.sql`, by Spark through our source, and by kcat and jq.

Each is a process of its own that has read the topic once before. Spark's session is started before the clock.
"""

import multiprocessing
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from penstock_bench.context import Bench
from penstock_bench.workloads.machine.spark_driver import SparkFailed, records

SQL = "penstock sql"
SPARK = "Spark, format penstock"
KCAT = "kcat | jq"
COUNT = "penstock sql, count only"
LAST_TENTH = "penstock sql, the last tenth by time"

_CPU = "CPU for a million rows"
_TOPIC = "readings"
_PARTITIONS = 4
_SPAN_MS = 10 * 3_600_000
_WAIT_S = 600.0
_GROUPED = "SELECT sensor, avg(celsius) FROM readings GROUP BY 1"


def run(bench: Bench) -> None:
    rows = bench.scale.sql_rows
    with bench.directory() as scratch, bench.broker({_TOPIC: _PARTITIONS}) as (server, _):
        bench.log(f"producing {rows:,} records for SQL")
        _produce(server.bootstrap, rows)
        spawn = multiprocessing.get_context("spawn")
        workers: dict[str, tuple[Any, Any]] = {}
        for name, target in ((SQL, _serve_sql), (SPARK, _serve_spark)):
            ours, theirs = spawn.Pipe()
            process = spawn.Process(target=target, args=(theirs, server.bootstrap, scratch))
            process.start()
            theirs.close()
            workers[name] = (process, ours)
        try:
            _measure_all(bench, server.bootstrap, rows, {name: pipe for name, (_, pipe) in workers.items()})
        finally:
            for process, pipe in workers.values():
                pipe.close()
                process.join(_WAIT_S)
    bench.board.ratio("rows a second: penstock sql / Spark's source", SQL, SPARK)
    bench.board.ratio("rows a second: penstock sql / kcat and jq", SQL, KCAT)
    bench.board.ratio("CPU: penstock sql / kcat and jq", f"{SQL}, {_CPU}", f"{KCAT}, {_CPU}")
    bench.board.ratio("bytes fetched: the last tenth / all", f"{LAST_TENTH}, bytes", f"{COUNT}, bytes")


def _measure_all(bench: Bench, bootstrap: str, rows: int, pipes: dict[str, Any]) -> None:
    has_kcat = all(shutil.which(name) for name in ("kcat", "jq"))
    if not has_kcat:
        bench.board.note("kcat and jq are not installed: they were not measured.")
    since_ms = int(time.time() * 1000) - _SPAN_MS // 10
    last = f"SELECT count(*) FROM readings WHERE _timestamp >= make_timestamptz({since_ms}000)"  # noqa: S608
    queries = {SQL: _GROUPED, COUNT: "SELECT count(*) FROM readings", LAST_TENTH: last}
    for query in queries.values():  # the first run infers columns
        _ask(pipes[SQL], query)
    _ask(pipes[SPARK], "")
    for _ in bench.rounds("SQL"):
        for name, query in queries.items():
            took_s, cpu_s, size = _ask(pipes[SQL], query)
            if name == SQL:
                bench.board.add(f"{name}, {_CPU}", cpu_s / rows * 1e6, "s")
            if name != LAST_TENTH:
                bench.board.add(name, rows / took_s, "rows/s")
            if name != SQL:
                bench.board.add(f"{name}, bytes", size, "B")
        took_s, _, _ = _ask(pipes[SPARK], "")
        bench.board.add(SPARK, rows / took_s, "rows/s")
        if has_kcat:
            took_s, cpu_s = _time_kcat(bootstrap)
            bench.board.add(KCAT, rows / took_s, "rows/s")
            bench.board.add(f"{KCAT}, {_CPU}", cpu_s / rows * 1e6, "s")


def _ask(pipe: Any, query: str) -> tuple[float, float, int]:
    """Return seconds, those of processors in that process, and the bytes fetched."""
    pipe.send(query)
    answer = pipe.recv()
    if isinstance(answer, str):
        raise SparkFailed(answer)
    took_s, cpu_s, size = answer
    return took_s, cpu_s, size


def _produce(bootstrap: str, rows: int) -> None:
    import confluent_kafka

    config = {
        "bootstrap.servers": bootstrap,
        "queue.buffering.max.messages": 500_000,
        "compression.type": "lz4",
    }
    producer = confluent_kafka.Producer(config)
    begin_ms = int(time.time() * 1000) - _SPAN_MS
    for number, value in enumerate(records(rows)):
        while True:
            try:
                producer.produce(
                    _TOPIC,
                    value,
                    partition=number % _PARTITIONS,
                    timestamp=begin_ms + number * _SPAN_MS // rows,
                )
                break
            except BufferError:
                producer.poll(0.1)
    if left := producer.flush(_WAIT_S):
        raise SparkFailed(f"{left} records were not acknowledged")


def _time_kcat(bootstrap: str) -> tuple[float, float]:
    """Return seconds, and those of processors."""
    read = ["kcat", "-C", "-e", "-q", "-b", bootstrap, "-t", _TOPIC, "-o", "beginning"]
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    reader = subprocess.Popen(read, stdout=subprocess.PIPE)  # noqa: S603 - a fixed command
    try:
        subprocess.run(
            ["jq", "-r", "[.sensor, .celsius] | @tsv"],  # noqa: S607
            stdin=reader.stdout,
            stdout=subprocess.DEVNULL,
            check=True,
        )
    finally:
        reader.wait(_WAIT_S)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, cpu_s


# -- processes


def _serve(pipe: "Connection[Any, Any]", measure: Callable[[str], int]) -> None:
    """Run each query that comes, and answer with the seconds and the bytes fetched, or with an error."""
    while True:
        try:
            query = pipe.recv()
        except EOFError:
            return
        began, cpu = time.perf_counter(), time.process_time()
        try:
            size = measure(query)
        except Exception as error:  # noqa: BLE001 - the benchmark reports every failure
            pipe.send(" ".join(str(error).split())[:500])
        else:
            pipe.send((time.perf_counter() - began, time.process_time() - cpu, size))


def _serve_sql(pipe: "Connection[Any, Any]", bootstrap: str, _directory: str) -> None:
    import penstock.sql

    with penstock.sql.connect(bootstrap) as session:

        def measure(query: str) -> int:
            result = session.sql(query)
            result.fetchall()
            return sum(scan.bytes_fetched for scan in result.stats)

        _serve(pipe, measure)


def _serve_spark(pipe: "Connection[Any, Any]", bootstrap: str, directory: str) -> None:
    with open(os.path.join(directory, "spark-driver.log"), "wb") as log:
        for descriptor in (1, 2):  # Spark's JVM prints to both
            os.dup2(log.fileno(), descriptor)
    from penstock.spark.session import start_session

    settings = {"spark.driver.memory": "2g", "spark.local.dir": os.path.join(directory, "local")}
    spark = start_session(
        "penstock-bench-sql", settings=settings, log_path=os.path.join(directory, "spark.log")
    )

    def measure(_query: str) -> int:
        rows = spark.read.format("penstock").options(
            **{"kafka.bootstrap.servers": bootstrap, "subscribe": _TOPIC}
        )
        parsed = rows.load().selectExpr(
            "from_json(cast(value as string), 'sensor STRING, celsius DOUBLE') AS fields"
        )
        parsed.groupBy("fields.sensor").avg("fields.celsius").collect()
        return 0

    _serve(pipe, measure)
    spark.stop()
