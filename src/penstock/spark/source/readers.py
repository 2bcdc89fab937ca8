"""The readers that Spark calls. They only delegate, so that planning and reading are tested without Spark.

Planning runs in one process on the driver, reading in the workers; a reader is pickled between them, so it holds only
its options.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
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
from penstock.spark.source.offsets import StreamOffsets
from penstock.spark.source.plan import share_tasks, split
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
    """What one task reads: a part of a partition, or several small partitions."""

    def __init__(self, ranges: tuple[OffsetRange, ...]) -> None:
        super().__init__(ranges)
        self.ranges = ranges


class TopicReader(DataSourceReader):
    def __init__(self, spec: SourceSpec) -> None:
        self._spec = spec

    def partitions(self) -> list[InputPartition]:
        return _tasks(batch_ranges(_positions(self._spec), self._spec), self._spec)

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

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's name
        return self._plan().initial().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  Spark's name
        if self._spec.trigger_offsets_max is not None:
            return ReadMaxRows(self._spec.trigger_offsets_max)
        if self._spec.trigger_offsets_min is not None:
            return ReadMinRows(self._spec.trigger_offsets_min)
        return ReadAllAvailable()

    def latestOffset(self, start: Mapping[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802  Spark's name
        records_max = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        takes_all = isinstance(limit, ReadAllAvailable)
        begin = StreamOffsets.from_json(start)
        return self._plan().latest(begin, records_max=records_max, takes_all=takes_all).to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802  Spark's name
        known = self._plan().latest_known()
        return None if known is None else known.to_json()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  Spark's name
        self._plan().stop_at_current_end()

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[InputPartition]:
        ranges = self._plan().ranges(StreamOffsets.from_json(start), StreamOffsets.from_json(end))
        return _tasks(ranges, self._spec)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(self._spec, partition)


def _positions(spec: SourceSpec) -> Positions:
    return Positions(shared_client(spec.client), spec.subscription)


def _tasks(ranges: Iterable[OffsetRange], spec: SourceSpec) -> list[InputPartition]:
    limits = {"partitions_min": spec.partitions_min, "records_max": spec.partition_records_max}
    cores = spec.cores or os.cpu_count() or 1
    return [RangePartition(each) for each in share_tasks(split(ranges, **limits), cores=cores, **limits)]


def _read(spec: SourceSpec, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    if not isinstance(partition, RangePartition):  # Spark's own, when a batch query has nothing to read
        return
    for each in partition.ranges:
        yield from read_range(
            shared_client(spec.client),
            each,
            schema=SCHEMA_WITH_HEADERS if spec.includes_headers else SCHEMA,
            fails_on_data_loss=spec.fails_on_data_loss,
        )


def _check_schema(options: Options, schema: StructType) -> None:
    expected = schema_of(options)
    if [(f.name, f.dataType) for f in schema.fields] != [(f.name, f.dataType) for f in expected.fields]:
        raise OptionError(
            f"the columns of format penstock are fixed ({expected.simpleString()}): leave .schema(...) out"
        )
