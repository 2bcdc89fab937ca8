"""Reads a table of any format into Spark as Arrow batches, without jars."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import datasource as spark
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from penstock.spark.lake.conditions import Condition, Operator, is_comparable
from penstock.spark.lake.errors import TableError
from penstock.spark.lake.formats import existing_table
from penstock.spark.lake.options import LakeOptions
from penstock.spark.lake.table import Split


class SplitPartition(InputPartition):
    def __init__(self, split: Split) -> None:
        super().__init__(split)
        self.split = split


class TableReader(DataSourceReader):
    """Reads every file. Spark passes a Python source no columns, and filters only if it is set to."""

    def __init__(self, options: LakeOptions, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = list(columns)
        self._conditions: list[Condition] = []

    def partitions(self) -> Sequence[InputPartition]:
        table = existing_table(self._options.location)
        return [SplitPartition(split) for split in table.splits(self._conditions)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Read one part; None is the part of a table without files."""
        return partition.split.batches(self._columns) if isinstance(partition, SplitPartition) else iter(())


class FilteringTableReader(TableReader):
    """Skips files and rows by Spark's filters.

    A separate class, because Spark refuses a source with `pushFilters` unless
    `spark.sql.python.filterPushdown.enabled` is set.
    """

    def pushFilters(self, filters: list[Filter]) -> list[Filter]:  # noqa: N802  Spark's name
        self._conditions = [found for each in filters if (found := condition_of(each)) is not None]
        return filters  # Spark checks all of them again


_OPERATORS: Mapping[type[Filter], Operator] = {
    spark.EqualTo: "==",
    spark.GreaterThan: ">",
    spark.GreaterThanOrEqual: ">=",
    spark.LessThan: "<",
    spark.LessThanOrEqual: "<=",
    spark.StringStartsWith: "starts with",
    spark.IsNull: "is null",
    spark.IsNotNull: "is not null",
    spark.In: "in",
}


def condition_of(given: Filter) -> Condition | None:
    """Convert a filter to a condition on a column; None if not every format supports it."""
    operator = _OPERATORS.get(type(given))
    attribute: tuple[str, ...] = getattr(given, "attribute", ())
    value = getattr(given, "value", None)
    values = value if isinstance(value, tuple | list) else (value,)
    is_null_check = operator in {"is null", "is not null"}
    if operator is None or len(attribute) != 1 or not (is_null_check or all(map(is_comparable, values))):
        return None
    return Condition(
        column=attribute[0], operator=operator, value=tuple(values) if operator == "in" else value
    )


def spark_schema(options: LakeOptions) -> StructType:
    state = existing_table(options.location).state()
    assert state is not None, options.location
    schema = state.schema
    unknown = [name for name in options.columns if name not in schema.names]
    if unknown:
        raise TableError(
            f"table {options.location} has no column {', '.join(unknown)}: it has {', '.join(schema.names)}"
        )
    names = options.columns or tuple(schema.names)
    return from_arrow_schema(pa.schema([schema.field(name) for name in names]))
