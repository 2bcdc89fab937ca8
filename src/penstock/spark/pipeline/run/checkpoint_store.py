"""Where the checkpoints of a pipeline are: wherever Spark can keep them, or in an object store with copies here.

Spark needs Hadoop's jars for an object store. Without them, and if Spark runs on this machine, it works in a copy below
the state directory, which `checkpoint_copy` keeps in step with the store. Executors elsewhere could not reach the copy.
"""

import os
import uuid
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from penstock.spark.lake.errors import TableError
from penstock.spark.lake.location import Location, location_of
from penstock.spark.lake.store import Store, open_store
from penstock.spark.pipeline.compile.steps import is_remote
from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.core.problems import PipelineError, Problem
from penstock.spark.pipeline.core.queries import (
    SHARED_CHECKPOINT,
    SHARED_PREFIX,
    checkpoint_root,
    state_directory,
)
from penstock.spark.pipeline.run.checkpoint_copy import CheckpointCopy
from penstock.spark.pipeline.run.checkpoints import CheckpointFiles, SparkFiles

_COPIES = "checkpoint-copies"


def checkpoint_location(pipeline: Pipeline) -> Location | None:
    """Return the place of the checkpoints in an object store; None if they are elsewhere. Raises TableError."""
    root = checkpoint_root(pipeline)
    if "://" not in root or root.startswith(("file:", "hdfs:", "dbfs:")):
        return None
    return location_of(root, pipeline.checkpoint_options)


def checkpoint_problem(pipeline: Pipeline) -> str | None:
    """Return why the object store of the checkpoints cannot be used."""
    try:
        location = checkpoint_location(pipeline)
        if location is not None:
            open_store(location).verify()
    except TableError as wrong:
        return f"checkpoints: {wrong}"
    return None


class CopiedFiles(CheckpointFiles):
    """Files of the queries that work in copies are in these, all others in the store."""

    def __init__(self, store: Store, copies: Mapping[str, CheckpointCopy]) -> None:
        self._store = store
        self._copies = copies

    def read(self, path: str) -> str | None:
        key, _, rest = path.partition("/")
        copy = self._copies.get(key)
        content = self._store.read(path) if copy is None else copy.read(rest)
        return None if content is None else content.decode()

    def write(self, path: str, text: str) -> None:
        key, _, rest = path.partition("/")
        self._copies[key].write(rest, text.encode())

    def names(self, path: str) -> list[str]:
        key, _, rest = path.partition("/")
        if key in self._copies:
            return self._copies[key].names(rest)
        below = (file.path.removeprefix(f"{path}/") for file in self._store.files(path))
        return sorted({each.partition("/")[0] for each in below})


class CheckpointStore:
    """The checkpoints in one run of the pipeline."""

    def __init__(self, spark: SparkSession, pipeline: Pipeline) -> None:
        self._spark = spark
        self._root = checkpoint_root(pipeline)
        self._run = str(uuid.uuid4())
        self._copies: dict[str, CheckpointCopy] = {}
        location = checkpoint_location(pipeline)
        self._location = None if location is None or _can_open(spark, self._root) else location
        self._directory = os.path.join(state_directory(pipeline), _COPIES)
        if self._location is not None and not _is_on_this_machine(spark):
            raise PipelineError(
                pipeline.file,
                [
                    Problem(
                        line=pipeline.line,
                        message=f"checkpoints in {self._root} need Hadoop's jars for this store on the cluster (for S3 "
                        "`spark: {spark.jars.packages: org.apache.hadoop:hadoop-aws:…}` and an s3a:// URL): executors "
                        "cannot reach the copy that a local master works in",
                    )
                ],
            )

    def path(self, key: str) -> str:
        """Return the directory of a query's checkpoint, for Spark."""
        return f"{self._root if self._location is None else self._directory}/{key}"

    def copy(self, key: str) -> CheckpointCopy | None:
        """Return the copy of a query's checkpoint, which is up to date; None if Spark reaches the checkpoint itself.

        Raises CheckpointTaken if another run has it, and TableError if the store cannot be used.
        """
        if self._location is None:
            return None
        if key not in self._copies:
            place = Location(path=f"{self._location.path}/{key}", options=self._location.options)
            self._copies[key] = CheckpointCopy(
                open_store(place),
                self.path(key),
                self._run,
                place.path,
                shared=SHARED_CHECKPOINT if key.startswith(SHARED_PREFIX) else "",
            )
        self._copies[key].open()
        return self._copies[key]

    def files(self) -> CheckpointFiles:
        """Return the files of all checkpoints."""
        if self._location is None:
            return SparkFiles(self._spark, self._root)
        return CopiedFiles(open_store(self._location), self._copies)

    def close(self) -> None:
        """Store the ends of the last batches."""
        for copy in self._copies.values():
            copy.close()


def _is_on_this_machine(spark: SparkSession) -> bool:
    return not is_remote(spark) and str(spark.sparkContext.master).startswith("local")


def _can_open(spark: SparkSession, root: str) -> bool:
    """Say whether Spark has a filesystem for this URL."""
    if is_remote(spark):
        return True  # the server knows
    jvm: Any = spark._jvm  # noqa: SLF001 - Python has no API for files
    java_session: Any = spark._jsparkSession  # noqa: SLF001
    path = jvm.org.apache.hadoop.fs.Path(root)
    try:
        path.getFileSystem(java_session.sessionState().newHadoopConf())
    except Exception:  # noqa: BLE001 - no class for the scheme, or one that cannot be loaded
        return False
    return True
