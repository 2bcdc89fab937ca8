"""The format "penstock": topics as tables, to read and to write, in batches and as streams.

Columns, option names and the JSON of offsets are those of Spark's Kafka connector, so that switching between the two
is one word. `pyspark_penstock` registers it by its name alone.
"""

import importlib
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from penstock.spark.options import Options


class PenstockDataSource(DataSource):
    """Created in every process that plans or runs a part of a query; holds only its options.

    Source and sink are imported on use: a query that only reads does not load the sink.
    """

    @classmethod
    def name(cls) -> str:
        return "penstock"

    def schema(self) -> StructType:
        schema: StructType = _source().schema_of(Options(self.options))
        return schema

    def reader(self, schema: StructType) -> DataSourceReader:
        reader: DataSourceReader = _source().batch_reader(Options(self.options), schema)
        return reader

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's name
        reader: DataSourceStreamReader = _source().stream_reader(Options(self.options), schema)
        return reader

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        writer: DataSourceWriter = _sink().batch_writer(Options(self.options), schema, overwrite)
        return writer

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802  Spark's name
        writer: DataSourceStreamWriter = _sink().stream_writer(Options(self.options), schema, overwrite)
        return writer


def _source() -> Any:
    return importlib.import_module("penstock.spark.source.readers")


def _sink() -> Any:
    return importlib.import_module("penstock.spark.sink.writers")
