"""Builds an archive of Spark's classes that more than halves the start time of its JVM (JEP 350, AppCDS).

A JVM writes the archive as it ends, which takes some seconds, so a separate run builds it:

    python -m penstock.spark.class_archive

A session uses the archive if there is one. Its name depends on the Java and the PySpark it was built with; the JVM
checks the jars itself and ignores an archive that does not fit.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyspark

from penstock.spark.java import Java, bundled_java_home, cache_directory, find_java
from penstock.spark.launch import launch_session, session_settings

_DUMP_TIMEOUT_SECONDS = 120.0
# Do not warn the user about an archive that does not fit.
_QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")


def archive_path(java: Java, cache: Path) -> Path:
    identity = f"{java.home} {java.version} {pyspark.__file__} {pyspark.__version__}"
    return cache / f"classes-{hashlib.sha256(identity.encode()).hexdigest()[:12]}.jsa"


def archive_options(archive: Path) -> tuple[str, ...]:
    if not os.access(archive, os.R_OK):
        return ()
    return (f"-XX:SharedArchiveFile={archive}", *_QUIET)


def make_archive(java: Java, cache: Path) -> Path | None:
    """Build the archive, unless it exists, by running a small pipeline. None: this JVM cannot write archives."""
    archive = archive_path(java, cache)
    if archive.exists():
        return archive
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as directory:
        temporary = os.path.join(directory, archive.name)
        options = (*_base_options(java, archive), f"-XX:ArchiveClassesAtExit={temporary}", *_QUIET)
        _load_classes(java, options, directory)
        if not os.path.exists(temporary):
            return None
        with open(temporary, "rb") as written:
            os.fsync(written.fileno())  # a JVM may crash on an archive that a power cut has shortened
        os.replace(temporary, archive)
    return archive


def _base_options(java: Java, archive: Path) -> tuple[str, ...]:
    """Build the archive of Java's own classes first, on which ours is based, if the runtime lacks it."""
    if Path(java.home, "lib", "server", "classes.jsa").exists():
        return ()
    base = archive.with_suffix(".base.jsa")
    command = [os.path.join(java.home, "bin", "java"), "-Xshare:dump", f"-XX:SharedArchiveFile={base}"]
    subprocess.run(command, capture_output=True, timeout=_DUMP_TIMEOUT_SECONDS, check=False)  # noqa: S603 - Java
    return (f"-XX:SharedArchiveFile={base}",)


def _load_classes(java: Java, jvm_options: tuple[str, ...], directory: str) -> None:
    """Load the classes that a pipeline uses: streaming, SQL, JSON, aggregation, and a Python function."""
    settings = {"spark.sql.shuffle.partitions": "1", "spark.sql.warehouse.dir": directory}
    spark = launch_session(
        java,
        session_settings("penstock-class-archive", "local[1]", jvm_options, settings),
        log_path=os.path.join(directory, "spark.log"),
    )
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - the archive is complete when its process has ended
    query = (
        spark.readStream.format("rate")
        .load()
        .selectExpr("value AS n", """from_json('{"a": 1}', 'a INT').a AS a""")
        .groupBy("a")
        .count()
        .writeStream.outputMode("complete")
        .option("checkpointLocation", os.path.join(directory, "checkpoint"))
        .trigger(availableNow=True)
        .format("noop")
        .start()
    )
    query.awaitTermination()
    spark.range(2).mapInArrow(lambda batches: batches, "id LONG").collect()
    spark.stop()
    gateway.proc.stdin.close()
    gateway.proc.wait()


def main() -> int:
    cache = cache_directory(os.environ)
    made = make_archive(find_java(os.environ, cache, bundled_java_home()), cache)
    print(made or "This Java cannot write a class archive. Spark starts without one, more slowly.")  # noqa: T201 - a command's output
    return 0


if __name__ == "__main__":
    sys.exit(main())
