"""A Spark driver to be killed: one topic of changes into four tables of one row, or one history, for each key.

    python -m tests.spark.lake.merge.driver BOOTSTRAP TOPIC DIRECTORY [--once] [--batch=ROWS]

Like `tests.spark.lake.driver`.
"""

import os
import sys
from collections.abc import Callable
from functools import partial

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.spark.lake.driver import keep_running, started_session

TABLES = {
    f"{table_format}-{history}": {"table_format": table_format, "history": history}
    for table_format in ("delta", "iceberg")
    for history in ("none", "scd2")
}
SCHEMA = "id BIGINT, order BIGINT, value STRING, deleted BOOLEAN"
_BATCH = "--batch="


def start(
    session: SparkSession, name: str, source: tuple[str, str], directory: str, *, once: bool, batch: str
) -> StreamingQuery:
    bootstrap, topic = source
    changes = (
        session.readStream.format("penstock")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", batch)
        .load()
        .selectExpr(f"from_json(cast(value as string), '{SCHEMA}') as change")
        .selectExpr("change.id", "change.order", "change.value", "change.deleted as _deleted")
    )
    writer = (
        changes.writeStream.queryName(name)
        .format("penstock_lake")
        .options(mode="upsert", key="id", order_by="order", **TABLES[name])
        .option("checkpointLocation", os.path.join(directory, "checkpoints", name))
    )
    trigger = writer.trigger(availableNow=True) if once else writer.trigger(processingTime="0 seconds")
    return trigger.start(os.path.join(directory, "tables", name))


def main(bootstrap: str, topic: str, directory: str, *flags: str) -> None:
    once = "--once" in flags
    batch = next((flag.removeprefix(_BATCH) for flag in flags if flag.startswith(_BATCH)), "1000")
    session = started_session(directory)
    starts: dict[str, Callable[[], StreamingQuery]] = {
        name: partial(start, session, name, (bootstrap, topic), directory, once=once, batch=batch)
        for name in TABLES
    }
    keep_running(starts)
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
