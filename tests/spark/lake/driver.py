"""A Spark driver to be killed: one topic into three tables, one of each format, each by a query of its own.

    python -m tests.spark.lake.driver BOOTSTRAP TOPIC DIRECTORY [--once]

Prints a line for each batch that a query has finished. With --once it ends when all that is in the topic is in the
tables; otherwise it goes on until a query fails, and then ends with an error.
"""

import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql.streaming import listener as events
from pyspark.sql.streaming.query import StreamingQuery

from penstock.spark.lake.table import FORMATS
from penstock.spark.session import start_session


class Told(events.StreamingQueryListener):
    def onQueryStarted(self, event: events.QueryStartedEvent) -> None:  # noqa: N802  Spark's name
        print(f"started {event.name}", flush=True)

    def onQueryProgress(self, event: events.QueryProgressEvent) -> None:  # noqa: N802  Spark's name
        print(f"batch {event.progress.name} {event.progress.batchId}", flush=True)

    def onQueryIdle(self, event: events.QueryIdleEvent) -> None:  # noqa: N802  Spark's name
        """Nothing to tell."""

    def onQueryTerminated(self, event: events.QueryTerminatedEvent) -> None:  # noqa: N802  Spark's name
        """The end is told by this process."""


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


def main(bootstrap: str, topic: str, directory: str, *flags: str) -> None:
    once = "--once" in flags
    settings = {
        "spark.sql.shuffle.partitions": "1",
        "spark.local.dir": os.path.join(directory, "local"),
        "spark.sql.warehouse.dir": os.path.join(directory, "warehouse"),
    }
    session = start_session("lake-driver", master="local[2]", settings=settings, is_short_run=True)
    session.streams.addListener(Told())
    queries = [start(session, name, (bootstrap, topic), directory, once=once) for name in FORMATS]
    if not once:
        session.streams.awaitAnyTermination()
    for query in queries:
        if once:
            query.awaitTermination()
        if (failure := query.exception()) is not None:
            raise failure
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
