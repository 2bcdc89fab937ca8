"""`format("penstock_lake")`: tables as a Spark sink, batch and streaming, and as a batch source."""

from collections.abc import Mapping
from typing import cast

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamWriter, DataSourceWriter
from pyspark.sql.types import StructType

from penstock.spark.lake.options import LakeOptions, parse_options
from penstock.spark.lake.reader import FilteringTableReader, TableReader, spark_schema
from penstock.spark.lake.writer import TableStreamWriter, TableWriter

FORMAT_NAME = "penstock_lake"


class PenstockLakeDataSource(DataSource):
    """Found by Spark through the module `pyspark_penstock_lake`."""

    @classmethod
    def name(cls) -> str:
        return FORMAT_NAME

    def schema(self) -> StructType:
        return spark_schema(self._parsed())

    def reader(self, schema: StructType) -> DataSourceReader:
        options = self._parsed()
        reader = FilteringTableReader if options.push_filters else TableReader
        return reader(options, schema.fieldNames())

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        return TableWriter(self._parsed(), schema, replaces_all=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802  Spark's name
        """`overwrite` is set in complete mode: each batch replaces the table."""
        return TableStreamWriter(self._parsed(), schema, replaces_all=overwrite)

    def _parsed(self) -> LakeOptions:
        return parse_options(cast("Mapping[str, str]", self.options))
