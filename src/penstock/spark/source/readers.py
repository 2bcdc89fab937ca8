"""The readers that Spark calls. They only delegate, so that planning and reading are tested without Spark.

Planning runs in one process on the driver, reading in the workers; a reader is pickled between them, so it holds only
its options.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from penstock.arrow.decoder import SCHEMA, SCHEMA_WITH_HEADERS
from penstock.arrow.ranges import OffsetRange
from penstock.arrow.read import read_range
from penstock.client.blocking.client import shared_client
from penstock.client.blocking.clock import SystemBlockingClock
from penstock.spark.options import OptionError, Options
from penstock.spark.source.batch import batch_ranges
from penstock.spark.source.offsets import OffsetsJson, from_json, to_json
from penstock.spark.source.positions import Positions
from penstock.spark.source.spec import SourceSpec, batch_spec, includes_headers, stream_spec
from penstock.spark.source.stream import StreamPlanner

RECORD_SCHEMA = from_arrow_schema(SCHEMA_WITH_HEADERS)


def schema_of(options: Options) -> StructType:
    return RECORD_SCHEMA if includes_headers(options) else from_arrow_schema(SCHEMA)


def batch_reader(options: Options, schema: StructType) -> DataSourceReader:
    _check_schema(options, schema)
    return TopicReader(batch_spec(options))


def stream_reader(options: Options, schema: StructType) -> DataSourceStreamReader:
    _check_schema(options, schema)
    return TopicStreamReader(stream_spec(options))


class RangePartition(InputPartition):
    def __init__(self, offsets: OffsetRange) -> None:
        super().__init__(offsets)
        self.offsets = offsets


class TopicReader(DataSourceReader):
    def __init__(self, spec: SourceSpec) -> None:
        self._spec = spec

    def partitions(self) -> list[InputPartition]:
        return [RangePartition(each) for each in batch_ranges(_positions(self._spec), self._spec)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(self._spec, partition)


class TopicStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The planner is created on use: workers do not need one."""

    def __init__(self, spec: SourceSpec) -> None:
        self._spec = spec
        self._planner: StreamPlanner | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_spec": self._spec, "_planner": None}

    def _plan(self) -> StreamPlanner:
        if self._planner is None:
            self._planner = StreamPlanner(_positions(self._spec), self._spec, SystemBlockingClock())
        return self._planner

    def initialOffset(self) -> OffsetsJson:  # noqa: N802  Spark's name
        return to_json(self._plan().initial())

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  Spark's name
        if self._spec.trigger_offsets_max is not None:
            return ReadMaxRows(self._spec.trigger_offsets_max)
        if self._spec.trigger_offsets_min is not None:
            return ReadMinRows(self._spec.trigger_offsets_min)
        return ReadAllAvailable()

    def latestOffset(self, start: Mapping[str, Mapping[str, int]], limit: ReadLimit) -> OffsetsJson:  # noqa: N802  Spark's name
        records_max = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        takes_all = isinstance(limit, ReadAllAvailable)
        return to_json(self._plan().latest(from_json(start), records_max=records_max, takes_all=takes_all))

    def reportLatestOffset(self) -> OffsetsJson | None:  # noqa: N802  Spark's name
        known = self._plan().latest_known()
        return None if known is None else to_json(known)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  Spark's name
        self._plan().stop_at_current_end()

    def partitions(
        self, start: Mapping[str, Mapping[str, int]], end: Mapping[str, Mapping[str, int]]
    ) -> list[InputPartition]:
        return [RangePartition(each) for each in self._plan().ranges(from_json(start), from_json(end))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(self._spec, partition)


def _positions(spec: SourceSpec) -> Positions:
    return Positions(shared_client(spec.client), spec.subscription)


def _read(spec: SourceSpec, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    if not isinstance(partition, RangePartition):  # Spark's own, when a batch query has nothing to read
        return iter(())
    return read_range(
        shared_client(spec.client),
        partition.offsets,
        schema=SCHEMA_WITH_HEADERS if spec.includes_headers else SCHEMA,
        fails_on_data_loss=spec.fails_on_data_loss,
    )


def _check_schema(options: Options, schema: StructType) -> None:
    expected = schema_of(options)
    if [(f.name, f.dataType) for f in schema.fields] != [(f.name, f.dataType) for f in expected.fields]:
        raise OptionError(
            f"the columns of format penstock are fixed ({expected.simpleString()}): leave .schema(...) out"
        )
