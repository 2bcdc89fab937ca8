"""A Spark driver to be killed: one topic into three tables, one of each format, each by a query of its own.

    python -m tests.spark.lake.driver BOOTSTRAP TOPIC DIRECTORY [--once]

Prints a line for each batch that a query has finished. A query that fails is started again. With --once it ends
when all that is in the topic is in the tables.
"""

import os
import sys
import time
from collections.abc import Callable
from functools import partial

from pyspark.sql import SparkSession
from pyspark.sql.streaming import listener as events
from pyspark.sql.streaming.query import StreamingQuery

from penstock.spark.lake.formats import TABLE_FORMATS
from penstock.spark.session import start_session

POLL_S = 0.1
FAILURES_MAX = 20  # Spark gives a Python worker ten seconds to start, which a busy machine may not


class ProgressPrinter(events.StreamingQueryListener):
    def onQueryStarted(self, event: events.QueryStartedEvent) -> None:  # noqa: N802  Spark's name
        print(f"started {event.name}", flush=True)

    def onQueryProgress(self, event: events.QueryProgressEvent) -> None:  # noqa: N802  Spark's name
        print(f"batch {event.progress.name} {event.progress.batchId}", flush=True)

    def onQueryIdle(self, event: events.QueryIdleEvent) -> None:  # noqa: N802  Spark's name
        """Nothing to print."""

    def onQueryTerminated(self, event: events.QueryTerminatedEvent) -> None:  # noqa: N802  Spark's name
        """This process reports the end."""


def start(
    session: SparkSession, name: str, source: tuple[str, str], directory: str, *, once: bool
) -> StreamingQuery:
    bootstrap, topic = source
    rows = (
        session.readStream.format("penstock")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 40)
        .load()
        .selectExpr("cast(cast(value as string) as int) as id", "cast(partition as string) as place")
    )
    writer = (
        rows.writeStream.queryName(name)
        .format("penstock_lake")
        .option("table_format", name)
        .option("partition_by", "place")
        .option("checkpointLocation", os.path.join(directory, "checkpoints", name))
    )
    trigger = writer.trigger(availableNow=True) if once else writer.trigger(processingTime="0 seconds")
    return trigger.start(os.path.join(directory, "tables", name))


def keep_running(starts: dict[str, Callable[[], StreamingQuery]]) -> None:
    """Start a query that fails again, as a pipeline does; end when all have ended well."""
    queries = {name: begin() for name, begin in starts.items()}
    failures = 0
    while queries:
        time.sleep(POLL_S)
        for name, query in list(queries.items()):
            if query.isActive:
                continue
            if (failure := query.exception()) is None:
                del queries[name]
                continue
            failures += 1
            if failures > FAILURES_MAX:
                raise failure
            queries[name] = starts[name]()


def started_session(directory: str) -> SparkSession:
    settings = {
        "spark.sql.shuffle.partitions": "1",
        "spark.local.dir": os.path.join(directory, "local"),
        "spark.sql.warehouse.dir": os.path.join(directory, "warehouse"),
    }
    session = start_session("lake-driver", master="local[2]", settings=settings, is_short_run=True)
    session.streams.addListener(ProgressPrinter())
    return session


def main(bootstrap: str, topic: str, directory: str, *flags: str) -> None:
    once = "--once" in flags
    session = started_session(directory)
    keep_running(
        {
            name: partial(start, session, name, (bootstrap, topic), directory, once=once)
            for name in TABLE_FORMATS
        }
    )
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
