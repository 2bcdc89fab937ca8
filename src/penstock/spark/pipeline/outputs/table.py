"""Outputs to tables, in any of the formats of `lake.formats`."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import msgspec

from penstock.spark.lake.errors import TableError
from penstock.spark.lake.formats import DEFAULT_FORMAT, TABLE_FORMATS, check_format
from penstock.spark.lake.location import Location, location_of
from penstock.spark.pipeline.core.model import Maintain, Pipeline, Shorthand, Sink, Target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KEEP_VERSIONS_MS_MIN = 3_600_000
_EVERY_MS_MIN = 1_000


class TableTarget(Target, frozen=True, kw_only=True):
    kind = "table"
    main = "path"
    modes = ("append",)  # rows once written stay

    path: str
    format: Annotated[str | None, tuple(TABLE_FORMATS)] = None
    catalog: Annotated[dict[str, str], Shorthand("name")] = msgspec.field(
        default_factory=dict
    )  # of Iceberg; pyiceberg's properties
    options: dict[str, str] = msgspec.field(default_factory=dict)  # of the object store
    partition_by: tuple[str, ...] = ()
    merge_schema: bool = False
    maintain: Maintain | None = None

    @property
    def table_format(self) -> str:
        return self.format or ("iceberg" if self.catalog else DEFAULT_FORMAT)

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
        if self.maintain is not None:
            yield from maintain_problems(self.maintain)

    def sink(self, pipeline: Pipeline) -> Sink:
        options = {**self.location(pipeline).spark_options(), "table_format": self.table_format}
        if self.partition_by:
            options["partition_by"] = ",".join(self.partition_by)
        if self.merge_schema:
            options["merge_schema"] = "true"
        return Sink(format="penstock_lake", options=options)

    def select(self, frame: "DataFrame") -> "DataFrame":
        result = super().select(frame)
        missing = [name for name in self.partition_by if name not in result.columns]
        if missing:
            raise ValueError(f"partition_by names `{missing[0]}`, which the rows do not have")
        return result

    def describe(self, partitions: Mapping[str, int] | None) -> str:  # noqa: ARG002 - about topics
        return f"table {self.path} ({self.table_format})"

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
