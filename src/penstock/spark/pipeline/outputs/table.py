"""Outputs to tables, in any of the formats of `lake.formats`.

With a `key` the rows are changes, and the table keeps the newest row of each key (`mode: upsert`, or `update` for
aggregates). `select` adds the columns by which the sink orders and deletes rows; `lake.merge` says what it does then.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec.structs import replace

from penstock.spark.lake.errors import TableError
from penstock.spark.lake.formats import DEFAULT_FORMAT, ICEBERG, TABLE_FORMATS, check_format
from penstock.spark.lake.location import Location, location_of
from penstock.spark.lake.merge.settings import DELETE_RETENTION_MS, HISTORIES, NO_HISTORY, SCD2
from penstock.spark.pipeline.core.model import (
    STREAM_MODES,
    UPSERT,
    Maintain,
    Pipeline,
    Shorthand,
    Sink,
    Target,
)
from penstock.spark.record_columns import DELETED, OFFSET, RECORD, TIE_BREAK, TIMESTAMP

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PLACEHOLDERS = ("topic", "schema", "table")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_MERGING_MODES = (UPSERT, "update")
_FORMAT_WITHOUT_MERGE = "parquet"
_KEEP_VERSIONS_MS_MIN = 3_600_000
_EVERY_MS_MIN = 1_000


class TableTarget(Target, frozen=True, kw_only=True):
    kind = "table"
    main = "path"
    modes = (*STREAM_MODES, UPSERT)

    path: str
    format: Annotated[str | None, tuple(TABLE_FORMATS)] = None
    catalog: Annotated[dict[str, str], Shorthand("name")] = msgspec.field(
        default_factory=dict
    )  # of Iceberg; pyiceberg's properties
    options: dict[str, str] = msgspec.field(default_factory=dict)  # of the object store
    partition_by: tuple[str, ...] = ()
    merge_schema: bool = False
    maintain: Maintain | None = None
    key: tuple[str, ...] = ()  # the columns that name a row; the fields below need it
    order_by: tuple[
        str, ...
    ] = ()  # the row that is greatest by these columns wins; empty: the record's offset
    delete_when: str | None = None  # a SQL condition; None: the record has no value
    history: Annotated[str, HISTORIES] = NO_HISTORY
    delete_retention_ms: int = DELETE_RETENTION_MS  # how long a deleted key's order is known

    for_each_topic: bool = False  # a table for each topic; the path has {topic}, {schema} or {table}

    @property
    def is_for_each_topic(self) -> bool:
        return self.for_each_topic

    def _placeholder_problems(self) -> Iterator[str]:
        placeholders = _PLACEHOLDER.findall(self.path)
        if not self.for_each_topic:
            if set(placeholders).intersection(PLACEHOLDERS):
                yield f"the path {self.path} has a placeholder, which is for `for_each_topic: true`"
            return
        unknown = sorted(set(placeholders).difference(PLACEHOLDERS))
        if unknown or not {"topic", "table"}.intersection(placeholders):
            yield "with `for_each_topic` the path names each table: write {topic}, or {schema} and {table}, in it"

    def of_topic(self, topic: str) -> "TableTarget":
        """Return the target of one topic. `{table}` is the last part of its name, `{schema}` the part before it."""
        *_, schema, table = ("", *topic.split("."))
        names = {"topic": topic, "schema": schema, "table": table}
        path = _PLACEHOLDER.sub(lambda found: names.get(found[1], found[0]), self.path)
        return replace(self, path=path, for_each_topic=False, merge_schema=True)

    @property
    def table_format(self) -> str:
        return self.format or (ICEBERG if self.catalog else DEFAULT_FORMAT)

    def location(self, pipeline: Pipeline) -> Location:
        """Raises TableError if there can be no table."""
        if self.catalog:
            return location_of(self.path, self.options, self.catalog)
        return location_of(pipeline.resolve(self.path), self.options)

    def problems(self) -> Iterator[str]:
        try:
            check_format(location_of(self.path, self.options, self.catalog or None), self.table_format)
        except TableError as wrong:
            yield str(wrong)
        yield from self._placeholder_problems()
        if self.maintain is not None and self.for_each_topic:
            yield "`maintain` is not for `for_each_topic`: run `penstock table compact` for each table"
        elif self.maintain is not None:
            yield from maintain_problems(self.maintain)

    def mode_problems(self, mode: str) -> Iterator[str]:
        yield from super().mode_problems(mode)
        if mode not in _MERGING_MODES:
            given = {"key": self.key, "order_by": self.order_by, "delete_when": self.delete_when}
            chosen = [name for name, value in given.items() if value]
            chosen += ["history"] if self.history != NO_HISTORY else []
            yield from (f"`{name}` is for `mode: upsert`, and this is `mode: {mode}`" for name in chosen)
            return
        if not self.key and not self.for_each_topic:
            yield f"`mode: {mode}` of a table needs `key`: write `key: [column, …]`, the columns that name a row"
        if self.table_format == _FORMAT_WITHOUT_MERGE:
            yield (
                f"a parquet table cannot be written in {mode} mode: a reader that lists its files would see "
                "replaced rows twice; write `format: delta` or `format: iceberg`"
            )

    def sink(self, pipeline: Pipeline) -> Sink:
        options = {**self.location(pipeline).spark_options(), "table_format": self.table_format}
        if self.partition_by:
            options["partition_by"] = ",".join(self.partition_by)
        if self.merge_schema:
            options["merge_schema"] = "true"
        if self.key:
            options |= self._merge_options()
        return Sink(format="penstock_lake", options=options, batch_id_option="batch_id")

    def _merge_options(self) -> dict[str, str]:
        options = {"mode": UPSERT, "key": ",".join(self.key), "history": self.history}
        if self.order_by:
            options["order_by"] = ",".join(self.order_by)
        return {**options, "delete_retention": f"{self.delete_retention_ms} ms"}

    def check_rows(self, columns: Sequence[str], mode: str) -> None:
        if self.for_each_topic:
            if RECORD not in columns:
                raise ValueError(
                    f"the rows have lost their topic: let the steps before keep the column `{RECORD}`"
                )
            return
        for name in ("partition_by", "key", "order_by"):
            missing = [column for column in getattr(self, name) if column not in columns]
            if missing:
                raise ValueError(f"{name} names `{missing[0]}`, which the rows do not have")
        if mode == UPSERT and not self.order_by and RECORD not in columns:
            raise ValueError(
                "the rows have lost the offset of their records: write `order_by: [column, …]`, or let the steps "
                f"before keep the column `{RECORD}`"
            )

    def select(self, frame: "DataFrame") -> "DataFrame":
        if self.for_each_topic:
            return frame  # each topic's rows are selected for its table
        result = self._with_change_columns(frame) if self.key else frame
        return super().select(result)

    def _with_change_columns(self, frame: "DataFrame") -> "DataFrame":
        """Add the order, if it is the record's, and whether the row deletes its key."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - the file is read without Spark

        has_record = RECORD in frame.columns
        delete_when = self.delete_when or (f"{RECORD}.value IS NULL" if has_record else "false")
        result = frame.withColumn(DELETED, F.coalesce(F.expr(delete_when), F.lit(False)))
        if not has_record:
            return result
        offset, time = F.col(f"{RECORD}.offset"), F.col(f"{RECORD}.timestamp")
        if self.order_by:
            return result.withColumn(TIE_BREAK, offset)
        result = result.withColumn(TIMESTAMP, time) if self.history == SCD2 else result
        return result.withColumn(OFFSET, offset)

    def describe(self, partitions: Mapping[str, int] | None) -> str:  # noqa: ARG002 - about topics
        if self.for_each_topic:
            return f"table {self.path} ({self.table_format}) for each topic"
        by_key = f", one row for each {', '.join(self.key)}" if self.key else ""
        return f"table {self.path} ({self.table_format}{by_key})"

    def idempotent_write_options(self, write_id: str) -> dict[str, str]:
        """Record the write in the table, as batch 0 of a query with this id."""
        return {"query_id": write_id, "batch_id": "0"}


def maintain_problems(maintain: Maintain) -> Iterator[str]:
    if maintain.keep_versions_ms < _KEEP_VERSIONS_MS_MIN:
        yield (
            "maintain: `keep_versions` must be at least 1 hour: files of a batch that is still being written would "
            "be removed"
        )
    if maintain.every_ms < _EVERY_MS_MIN:
        yield "maintain: `every` must be at least 1 second"
