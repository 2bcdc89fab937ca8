"""Reads and writes files below the checkpoints; here wherever Spark can keep them, through its own file manager.

Of a query's checkpoint it reads `offsets/<batch>` and `commits/<batch>`, in Spark's formats: a planned batch is in the
first, a finished one in both. The lines of an offsets file after the first two are the ends of the batch, one for each
source.
"""

import json
import posixpath
from abc import ABC, abstractmethod
from typing import Any

from pyspark.sql import SparkSession

from penstock.spark.pipeline.progress.batch import Offsets, offsets
from penstock.spark.pipeline.run.checkpoint_copy import LOG

_HEADER_LINES = 2  # the version, and the metadata of the batch


class CheckpointFiles(ABC):
    """Paths are relative to the root of the checkpoints, and begin with the key of a query."""

    @abstractmethod
    def read(self, path: str) -> str | None: ...

    @abstractmethod
    def write(self, path: str, text: str) -> None:
        """Replace a file atomically. It is durable when the call returns."""

    @abstractmethod
    def names(self, path: str) -> list[str]:
        """List a directory; a missing one is empty."""


class SparkFiles(CheckpointFiles):
    """Files of Spark's file manager. A group's log (`checkpoint_copy`) would hide what is written here."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self._root = root
        jvm: Any = spark._jvm  # noqa: SLF001 - Python has no API for files
        self._path = jvm.org.apache.hadoop.fs.Path
        self._text = jvm.org.apache.commons.io.IOUtils
        manager = jvm.org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
        java_session: Any = spark._jsparkSession  # noqa: SLF001
        self._files = manager.create(self._at(""), java_session.sessionState().newHadoopConf())

    def read(self, path: str) -> str | None:
        where = self._at(path)
        if not self._files.exists(where):
            return None
        stream = self._files.open(where)
        try:
            text: str = self._text.toString(stream, "UTF-8")
        finally:
            stream.close()
        return text

    def write(self, path: str, text: str) -> None:
        self._files.delete(self._at(f"{path.partition('/')[0]}/{LOG}"))
        self._files.mkdirs(self._at(posixpath.dirname(path)))
        stream = self._files.createAtomic(self._at(path), True)
        try:
            stream.write(bytearray(text.encode()))
        except BaseException:
            stream.cancel()
            raise
        stream.close()

    def names(self, path: str) -> list[str]:
        where = self._at(path)
        if not self._files.exists(where):
            return []
        return [each.getPath().getName() for each in self._files.list(where)]

    def _at(self, path: str) -> Any:
        return self._path(posixpath.join(self._root, path) if path else self._root)


class QueryLog:
    """What Spark has planned and finished of one query."""

    def __init__(self, files: CheckpointFiles, key: str) -> None:
        self._files = files
        self._key = key

    def last_planned(self) -> int:
        return self._last("offsets")

    def last_finished(self) -> int:
        return self._last("commits")

    def query_id(self) -> str | None:
        text = self._files.read(f"{self._key}/metadata")
        return None if text is None else str(json.loads(text)["id"])

    def ends(self, batch_id: int) -> list[Offsets]:
        """Return the end of a batch in each source; empty if it is not known any more."""
        text = self._files.read(f"{self._key}/offsets/{batch_id}") or ""
        return [offsets(line) for line in text.splitlines()[_HEADER_LINES:]]

    def _last(self, log: str) -> int:
        names = self._files.names(f"{self._key}/{log}")
        return max((int(name) for name in names if name.isdecimal()), default=-1)
