"""Outputs to tables, in any of the formats of `lake.formats`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from penstock.spark.lake.formats import DEFAULT_FORMAT, TABLE_FORMATS
from penstock.spark.pipeline.core.model import Pipeline, Sink, Target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class TableTarget(Target, frozen=True, kw_only=True):
    kind = "table"
    main = "path"
    modes = ("append",)  # rows once written stay

    path: str
    format: Annotated[str, tuple(TABLE_FORMATS)] = DEFAULT_FORMAT
    partition_by: tuple[str, ...] = ()
    merge_schema: bool = False

    def sink(self, pipeline: Pipeline) -> Sink:
        options = {"path": pipeline.resolve(self.path), "table_format": self.format}
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
        return f"table {self.path} ({self.format})"

    def idempotent_write_options(self, write_id: str) -> dict[str, str]:
        """Record the write in the table, as batch 0 of a query with this id."""
        return {"query_id": write_id, "batch_id": "0"}
