"""The format "penstock": topics as tables, to read and to write, in batches and as streams.

Columns, option names and the JSON of offsets follow Spark's Kafka connector, so that switching between the two
is one word. `pyspark_penstock` registers it by its name alone.
"""

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
    """Imports source and sink on use: a query that only reads does not load the sink."""

    @classmethod
    def name(cls) -> str:
        return "penstock"

    def schema(self) -> StructType:
        from penstock.spark.source import readers  # noqa: PLC0415

        return readers.schema_of(Options(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        from penstock.spark.source import readers  # noqa: PLC0415

        return readers.batch_reader(Options(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's name
        from penstock.spark.source import readers  # noqa: PLC0415

        return readers.stream_reader(Options(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from penstock.spark.sink import writers  # noqa: PLC0415

        return writers.batch_writer(Options(self.options), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: ARG002, N802  Spark's
        from penstock.spark.sink import writers  # noqa: PLC0415

        return writers.stream_writer(Options(self.options), schema)
