"""A topic as a dataset of Arrow, which DuckDB scans: it passes the columns that it needs, and a filter.

A format that is decoded here, in Python, adds its columns.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.dataset as ds

from penstock.arrow.decoder import SCHEMA_WITH_HEADERS
from penstock.client.blocking.client import BlockingClient
from penstock.sql.columns import ERROR, HEADERS, KEY, OFFSET, PARTITION, TEXT, TIMESTAMP, VALUE
from penstock.sql.pushdown import Filter
from penstock.sql.scan import ScanStats, scan
from penstock.sql.snapshot import Snapshot, ranges_for
from penstock.sql.text import to_text

_SOURCE: Final[Mapping[str, str]] = {
    KEY: "key",
    PARTITION: "partition",
    OFFSET: "offset",
    TIMESTAMP: "timestamp",
    HEADERS: "headers",
    VALUE: "value",
    TEXT: "value",
}


class Decoding(Protocol):
    """Decodes values in Python, to columns of its own and `_error`."""

    @property
    def schema(self) -> pa.Schema: ...

    def decode(self, values: Any, columns: Sequence[str]) -> dict[str, Any]: ...


class TopicDataset(ds.Dataset):
    """DuckDB calls `scanner`, and reads what it returns once."""

    def __init__(
        self,
        client: BlockingClient,
        snapshot: Snapshot,
        *,
        key_is_text: bool = True,
        decoding: Decoding | None = None,
    ) -> None:
        self.client = client
        self._decoding = decoding
        self._schema = _schema(decoding, key_is_text=key_is_text)
        self.snapshot = snapshot
        self.scans: list[ScanStats] = []
        self.reads_nothing = False  # for EXPLAIN: a scan is planned and not read

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> "_Scanner":  # type: ignore[override]  # noqa: A002 - Arrow's names
        wanted_by = Filter(filter, self._schema)
        names = list(self._schema.names if columns is None else columns)
        needed = [name for name in self._schema.names if name in names or name in wanted_by.columns]
        stats = ScanStats(
            topic=self.snapshot.topic,
            partitions=len(self.snapshot.ends),
            ranges=ranges_for(self.client, self.snapshot, wanted_by),
            columns=needed,
        )
        self.scans.append(stats)
        batches = iter(()) if self.reads_nothing else self._batches(needed, names, wanted_by, stats)
        return _Scanner(pa.schema([self._schema.field(name) for name in names]), batches)

    def _batches(
        self, needed: Sequence[str], names: Sequence[str], wanted_by: Filter, stats: ScanStats
    ) -> Iterator[pa.RecordBatch]:
        decoded = [name for name in needed if name not in _SOURCE]
        sources = {_SOURCE[name] for name in needed if name in _SOURCE} | ({"value"} if decoded else set())
        read = pa.schema([field for field in SCHEMA_WITH_HEADERS if field.name in sources])
        for batch in scan(self.client, read, stats):
            columns: dict[str, Any] = {}
            if decoded and self._decoding is not None:
                columns = self._decoding.decode(batch.column("value"), decoded)
            for name in needed:
                if name not in columns:
                    columns[name] = self._record_column(batch, name)
            made = pa.RecordBatch.from_pydict({name: columns[name] for name in needed})
            yield wanted_by.apply(made).select(list(names))

    def _record_column(self, batch: pa.RecordBatch, name: str) -> Any:
        column = batch.column(_SOURCE[name])
        if self._schema.field(name).type == pa.string():
            return to_text(column, replaces_invalid=name == KEY)
        return column


class _Scanner:
    """The part of a scanner of Arrow that DuckDB uses."""

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        self.projected_schema = schema
        self._batches = batches

    def to_reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.projected_schema, self._batches)


def _schema(decoding: Decoding | None, *, key_is_text: bool) -> pa.Schema:
    fields = [
        pa.field(PARTITION, pa.int32()),  # first: DuckDB reads the first column if it needs none
        pa.field(KEY, pa.string() if key_is_text else pa.binary()),
        pa.field(OFFSET, pa.int64()),
        pa.field(TIMESTAMP, pa.timestamp("us", "UTC")),
        pa.field(HEADERS, SCHEMA_WITH_HEADERS.field("headers").type),
        pa.field(VALUE, pa.binary()),
        pa.field(TEXT, pa.string()),
    ]
    if decoding is not None:
        fields += [*decoding.schema, pa.field(ERROR, pa.string())]
    return pa.schema(fields)
