"""Passes each micro-batch that Spark reports to the monitor, with Spark and with Spark Connect."""

from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from penstock.spark.pipeline.progress.batch import from_json
from penstock.spark.pipeline.progress.monitor import Monitor


class ProgressListener(StreamingQueryListener):
    """Called on Spark's listener thread, so it must not block."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's names
        """The supervisor started the query."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        self._monitor.progressed(from_json(event.progress.json))

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """The last batch is still current."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """The supervisor detects it."""
