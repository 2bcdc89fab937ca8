"""Hands each micro-batch that Spark tells of to the monitor. The same class serves Spark and Spark Connect."""

from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from penstock.spark.pipeline.progress import from_json
from penstock.spark.pipeline.progress_monitor import Monitor


class ProgressListener(StreamingQueryListener):
    """Called on Spark's listener thread, so it does nothing that waits."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's names
        """The supervisor knows: it started the query."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        self._monitor.progressed(from_json(event.progress.json))

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Nothing new to read: what the last batch told still holds."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """The supervisor finds out by itself, also about queries that ended before anybody listened."""
