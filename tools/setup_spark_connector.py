"""Fetch Spark's own Kafka connector with Maven, for `tests/spark/connector` and for the benchmark.

Four jars go into `interop/spark-kafka` of the virtual environment, and `versions.txt` beside them says which. Of each
the version that fits the installed PySpark is asked for first and older ones after it: not every repository has all.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from enum import Enum, auto
from importlib import metadata
from pathlib import Path

import msgspec

CONNECTOR = Path(sys.prefix) / "interop" / "spark-kafka"
_TIMEOUT_S = 300
_OLDER_SPARK = ("4.3.0", "4.2.0", "4.1.1", "4.1.0", "4.0.1", "4.0.0")
_NOT_RUN = "the tests of Spark's own connector will say that they were not run"
# What Maven says of an artifact that a repository does not have, now or when it was last asked.
_ABSENT = ("Could not find artifact", "was not found in")


class Jar(msgspec.Struct, frozen=True, kw_only=True):
    """An artifact, and the versions of it that will do, the best one first."""

    name: str  # group:artifact
    versions: tuple[str, ...]


class Outcome(Enum):
    TAKEN = auto()
    ABSENT = auto()
    UNREACHABLE = auto()


class NotFetched(Exception):
    """The jars cannot be had here; the message says why."""


def jars_for(spark_version: str) -> tuple[Jar, ...]:
    """What the connector of a PySpark of that version consists of."""
    of_spark = (spark_version, *(each for each in _OLDER_SPARK if _numbers(each) < _numbers(spark_version)))
    return (
        Jar(name="org.apache.spark:spark-sql-kafka-0-10_2.13", versions=of_spark),
        Jar(name="org.apache.spark:spark-token-provider-kafka-0-10_2.13", versions=of_spark),
        Jar(name="org.apache.kafka:kafka-clients", versions=("4.1.0", "3.9.1", "3.9.0")),
        Jar(name="org.apache.commons:commons-pool2", versions=("2.12.1", "2.12.0")),
    )


def choose(jars: Sequence[Jar], take: Callable[[str], Outcome]) -> list[str]:
    """The coordinates of the jars that `take` could get, the best version of each."""
    return [_first_taken(jar, take) for jar in jars]


def _first_taken(jar: Jar, take: Callable[[str], Outcome]) -> str:
    for version in jar.versions:
        coordinates = f"{jar.name}:{version}"
        outcome = take(coordinates)
        if outcome is Outcome.TAKEN:
            return coordinates
        if outcome is Outcome.UNREACHABLE:
            raise NotFetched(f"Maven cannot be reached for {coordinates}")
    raise NotFetched(f"Maven has none of the versions {', '.join(jar.versions)} of {jar.name}")


def connector_jars(directory: Path = CONNECTOR) -> list[str]:
    """The jars' paths; none when they were not fetched."""
    return sorted(str(jar) for jar in directory.glob("*.jar"))


def main() -> int:
    stamp = CONNECTOR / "versions.txt"
    spark_version = metadata.version("pyspark")
    heading = f"for PySpark {spark_version}"
    if stamp.exists() and stamp.read_text().startswith(heading + "\n"):
        print(f"Spark's Kafka connector is there, {stamp.read_text().strip()}")
        return 0
    if not shutil.which("mvn") or not shutil.which("java"):
        print(f"Java or Maven is missing: {_NOT_RUN}")
        return 0
    print(f"fetching Spark's Kafka connector {heading} with Maven")
    half_done = CONNECTOR.with_name(CONNECTOR.name + ".part")
    shutil.rmtree(half_done, ignore_errors=True)
    try:
        taken = choose(jars_for(spark_version), lambda coordinates: _fetch(coordinates, half_done))
    except NotFetched as reason:
        print(f"{reason}: {_NOT_RUN}")
        return 0
    (half_done / stamp.name).write_text("\n  ".join([heading, *taken]) + "\n")
    shutil.rmtree(CONNECTOR, ignore_errors=True)
    half_done.rename(CONNECTOR)
    print(f"took, {stamp.read_text().strip()}")
    return 0


def _fetch(coordinates: str, directory: Path) -> Outcome:
    command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={coordinates}"]
    try:
        done = subprocess.run(
            [*command, f"-DoutputDirectory={directory}"],
            env=dict(os.environ),
            timeout=_TIMEOUT_S,
            capture_output=True,
            text=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome.UNREACHABLE
    if done.returncode == 0:
        return Outcome.TAKEN
    told = done.stdout + done.stderr
    return Outcome.ABSENT if any(sign in told for sign in _ABSENT) else Outcome.UNREACHABLE


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")[:3] if number.isdigit()]


if __name__ == "__main__":
    sys.exit(main())
