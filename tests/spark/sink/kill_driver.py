"""A driver of its own, to be killed: copies one topic to another, in small batches, exactly once.

    python -m tests.spark.sink.kill_driver BOOTSTRAP SOURCE TARGET CHECKPOINT follow|once

Tells on its output every batch that it has committed. Tasks may fail, as they may on a cluster.
"""

import sys
import time

from penstock.spark.datasource import PenstockDataSource
from penstock.spark.session import start_session


def main(bootstrap: str, source: str, target: str, checkpoint: str, how: str) -> None:
    session = start_session(
        "kill-driver",
        master="local[2,8]",
        settings={"spark.log.level": "OFF", "spark.sql.shuffle.partitions": "1"},
    )
    session.dataSource.register(PenstockDataSource)
    reader = session.readStream.format("penstock").option("kafka.bootstrap.servers", bootstrap)
    rows = reader.options(subscribe=source, startingOffsets="earliest", maxOffsetsPerTrigger="60").load()
    writer = rows.selectExpr("key", "value").writeStream.format("penstock")
    writer = writer.option("kafka.bootstrap.servers", bootstrap).option("topic", target)
    writer = writer.option("checkpointLocation", checkpoint)
    query = (writer.trigger(availableNow=True) if how == "once" else writer).start()
    reported = -1
    print("started", flush=True)
    while query.isActive:
        time.sleep(0.05)
        progress = query.lastProgress
        if progress is not None and progress.batchId > reported:
            reported = progress.batchId
            print(f"batch {reported}", flush=True)
    query.awaitTermination()  # raises what the query failed of
    print("done", flush=True)
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
