"""What a run records of its queries, in `plan.json` beside the checkpoints, for the comparison with a later file.

plan.json  the JSON of `Recorded`; a query that the file no longer has is kept while its checkpoint exists
"""

from collections.abc import Iterable

import msgspec

from penstock.spark.lake.disk import Disk

PLAN_FILE = "plan.json"

Columns = tuple[tuple[str, str], ...]  # names or expressions, and their types


class OperatorRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An operator that keeps state."""

    kind: str  # as Spark calls it: Aggregate, Deduplicate, Join, …
    keys: Columns
    values: Columns = ()
    windows: tuple[str, ...] = ()  # definitions of time windows among the keys


class SourceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A stream that the query reads. Spark knows it by its place in the query only."""

    name: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    leaves_losses_behind: bool = False  # failOnDataLoss is false

    @property
    def label(self) -> str:
        what = f"pattern {self.pattern}" if self.pattern is not None else f"topic {', '.join(self.topics)}"
        return f"{self.name} ({what})"


class QueryRecord(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    sources: tuple[SourceRecord, ...]
    operators: tuple[OperatorRecord, ...] | None  # None: unknown, as with Spark Connect
    target: str
    mode: str
    columns: Columns
    parts: dict[str, str]  # every source and step that the query is made of -> its definition
    shuffle_partitions: int | None = None

    @property
    def is_stateful(self) -> bool:
        return bool(self.operators)


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    spark: str = ""  # its version
    queries: dict[str, QueryRecord] = {}


def read_recorded(directory: str) -> Recorded:
    content = Disk(directory).read(PLAN_FILE)
    return Recorded() if content is None else msgspec.json.decode(content, type=Recorded)


def write_recorded(directory: str, recorded: Recorded) -> None:
    content = msgspec.json.format(msgspec.json.encode(recorded), indent=2)
    Disk(directory).write(PLAN_FILE, content)


def merged(old: Recorded, spark: str, new: Iterable[QueryRecord], kept: Iterable[str]) -> Recorded:
    """Return the old records under the `kept` keys, with the new ones."""
    queries = {key: old.queries[key] for key in kept if key in old.queries}
    return Recorded(spark=spark, queries={**queries, **{each.key: each for each in new}})
